// All diseases by name, and the routes that switch them.
namespace Shop.Illness;

internal sealed class Ward
{
    private readonly Disease[] _diseases =
    [
        new Deadlock(), new Leak(), new Starvation(), new StuckTask(), new HotLoop(), new ExceptionStorm(),
    ];

    public IReadOnlyList<Disease> All => _diseases;

    public Disease? Find(string name) => Array.Find(_diseases, disease => disease.Name == name);
}

internal static class Routes
{
    public static void MapIllness(this WebApplication app)
    {
        app.MapGet("/illness", (Ward ward) =>
            ward.All.Select(disease => new { disease.Name, disease.IsOn, disease.About }));
        app.MapPost("/illness/{name}/on", (Ward ward, string name) => Switch(ward, name, true));
        app.MapPost("/illness/{name}/off", (Ward ward, string name) => Switch(ward, name, false));
    }

    private static IResult Switch(Ward ward, string name, bool on)
    {
        if (ward.Find(name) is not { } disease)
            return Results.NotFound();
        disease.Switch(on);
        return Results.Ok(new { disease.Name, disease.IsOn });
    }
}
