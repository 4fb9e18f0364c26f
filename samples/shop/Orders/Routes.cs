// Ordering, and the bank that is part of this sample.
namespace Shop.Orders;

internal static class Routes
{
    public static void MapOrders(this WebApplication app)
    {
        app.MapPost("/orders", Place);
        app.MapGet("/orders/{number:int}", (OrderDesk desk, int number) =>
            desk.Find(number) is { } order ? Results.Ok(order) : Results.NotFound());
        app.MapPost("/payments", async (Payment payment) =>
        {
            await Task.Delay(payment.OrderNumber % 8);
            return Results.Ok();
        });
    }

    private static async Task<IResult> Place(OrderDesk desk, ILogger<OrderDesk> log, OrderRequest request)
    {
        try
        {
            return Results.Ok(await desk.Place(request));
        }
        catch (OrderRejected rejected)
        {
            log.LogWarning(new EventId(7, "Rejected"), rejected, "order of product {ProductId} rejected", request.ProductId);
            return Results.Conflict(rejected.Message);
        }
    }
}
