// Asking for prices.
namespace Shop.Pricing;

internal static class Routes
{
    public static void MapPricing(this WebApplication app) =>
        app.MapGet("/price/{id:int}", (PriceEngine engine, int id, int? quantity) =>
            engine.GetQuote(id, quantity ?? 1) is { } quote ? Results.Ok(quote) : Results.NotFound());
}
