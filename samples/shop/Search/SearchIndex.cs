// Finds goods by words that need not be spelt right: allocates and computes, which is its purpose here.
using Shop.Catalog;

namespace Shop.Search;

internal sealed record Hit(int ProductId, string Name, double Score);

internal sealed class SearchIndex
{
    private readonly Shelf _shelf;
    private readonly Dictionary<string, List<int>> _byWord = [];

    public SearchIndex(Shelf shelf)
    {
        _shelf = shelf;
        foreach (Product product in shelf.All)
            foreach (string word in Split($"{product.Name} {product.Description}"))
                ListFor(word).Add(product.Id);
    }

    public IEnumerable<Hit> Find(string query, int count)
    {
        var scores = new Dictionary<int, double>();
        foreach (string word in Split(query))
            AddScores(scores, word);
        return scores.OrderByDescending(pair => pair.Value).ThenBy(pair => pair.Key).Take(count)
            .Select(pair => new Hit(pair.Key, _shelf.Find(pair.Key)!.Name, Math.Round(pair.Value, 3)));
    }

    /// <summary>Every known word counts by its likeness; rare ones count more.</summary>
    private void AddScores(Dictionary<int, double> scores, string word)
    {
        foreach ((string known, List<int> products) in _byWord)
        {
            double likeness = 1 - EditDistance(word, known) / (double)Math.Max(word.Length, known.Length);
            if (likeness < 0.7)
                continue;
            double weight = likeness / Math.Log(2 + products.Count);
            foreach (int id in products)
                scores[id] = scores.GetValueOrDefault(id) + weight;
        }
    }

    private static int EditDistance(string left, string right)
    {
        int[] above = Enumerable.Range(0, right.Length + 1).ToArray();
        for (int i = 1; i <= left.Length; i++)
        {
            int[] row = new int[right.Length + 1];
            row[0] = i;
            for (int j = 1; j <= right.Length; j++)
            {
                int replaced = above[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
                row[j] = Math.Min(replaced, Math.Min(above[j], row[j - 1]) + 1);
            }
            above = row;
        }
        return above[^1];
    }

    private List<int> ListFor(string word)
    {
        if (!_byWord.TryGetValue(word, out List<int>? products))
            _byWord[word] = products = [];
        return products;
    }

    private static IEnumerable<string> Split(string text) =>
        text.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(word => word.ToLowerInvariant()).Distinct();
}
