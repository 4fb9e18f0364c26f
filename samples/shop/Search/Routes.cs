// Searching.
namespace Shop.Search;

internal static class Routes
{
    private const int LongestQuery = 100;

    public static void MapSearch(this WebApplication app) =>
        app.MapGet("/search", (SearchIndex index, ILogger<SearchIndex> log, string? q) =>
        {
            log.LogInformation("searching for {Query}", q);
            return q is { Length: > 0 and <= LongestQuery }
                ? Results.Ok(index.Find(q, 10))
                : Results.BadRequest("q is missing or too long");
        });
}
