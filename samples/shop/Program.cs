// shop.dll [--urls http://127.0.0.1:0]           serves
// shop.dll load --url URL [--seconds N] ...      loads a shop that serves
using Shop.Catalog;
using Shop.Illness;
using Shop.Load;
using Shop.Orders;
using Shop.Pricing;
using Shop.Search;
using Shop.Storage;

namespace Shop;

internal static class Program
{
    private static async Task<int> Main(string[] args)
    {
        if (args.Length > 0 && args[0] == "load")
            return await LoadGenerator.Run(args[1..]);
        await Serve(args);
        return 0;
    }

    private static async Task Serve(string[] args)
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
        builder.Logging.ClearProviders();
        builder.Logging.AddEventSourceLogger(); // heard by whoever listens, silent otherwise
        if (builder.Configuration["urls"] is null)
            builder.WebHost.UseUrls("http://127.0.0.1:5080");
        AddParts(builder.Services);

        await using WebApplication app = builder.Build();
        app.MapCatalog();
        app.MapPricing();
        app.MapSearch();
        app.MapOrders();
        app.MapStorage();
        app.MapIllness();
        app.MapGet("/health", () => "well");

        await app.StartAsync();
        string address = app.Urls.First();
        app.Services.GetRequiredService<Bank>().Open(address);
        Console.WriteLine($"shop: listening on {address} pid={Environment.ProcessId}");
        await app.WaitForShutdownAsync();
    }

    private static void AddParts(IServiceCollection services)
    {
        services.AddSingleton<Shelf>();
        services.AddSingleton<PriceEngine>();
        services.AddSingleton<SearchIndex>();
        services.AddSingleton<Archive>();
        services.AddSingleton<Bank>();
        services.AddSingleton<OrderDesk>();
        services.AddSingleton<Ward>();
    }
}
