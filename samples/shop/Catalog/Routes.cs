// Looking at the goods.
namespace Shop.Catalog;

internal static class Routes
{
    private const int PageSize = 20;

    public static void MapCatalog(this WebApplication app)
    {
        app.MapGet("/products", (Shelf shelf, int? page) =>
            shelf.All.Skip(Math.Max(0, page ?? 0) % (Shelf.Size / PageSize) * PageSize).Take(PageSize));
        app.MapGet("/products/{id:int}", (Shelf shelf, int id) =>
            shelf.Find(id) is { } product ? Results.Ok(product) : Results.NotFound());
    }
}
