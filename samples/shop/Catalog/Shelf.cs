// The goods: made up from a fixed seed, so that every run sells the same.
namespace Shop.Catalog;

internal sealed record Product(int Id, string Name, string Description, decimal Cost, int Grams);

internal sealed class Shelf
{
    public const int Size = 2000;

    private static readonly string[] Kinds =
        ["kettle", "lamp", "chair", "ladder", "bucket", "compass", "blanket", "radio", "clock", "basket"];
    private static readonly string[] Traits =
        ["small", "sturdy", "folding", "copper", "wooden", "woollen", "silent", "bright", "travel", "garden"];

    private readonly Product[] _products = MakeProducts();

    public IReadOnlyList<Product> All => _products;

    public Product? Find(int id) => id >= 1 && id <= _products.Length ? _products[id - 1] : null;

    private static Product[] MakeProducts()
    {
        var random = new Random(20);
        return Enumerable.Range(1, Size).Select(id => MakeProduct(id, random)).ToArray();
    }

    private static Product MakeProduct(int id, Random random)
    {
        string name = $"{Pick(Traits, random)} {Pick(Kinds, random)} no {id}";
        string description = string.Join(' ', Enumerable.Range(0, 12).Select(_ => Pick(Traits, random)));
        return new Product(id, name, description, random.Next(100, 20_000) / 100m, random.Next(50, 5_000));
    }

    private static string Pick(string[] words, Random random) => words[random.Next(words.Length)];
}
