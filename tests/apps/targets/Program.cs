// Runs one behaviour by name: targets.dll <behaviour> [key=value ...] [--seconds N]
//
// Prints "ready pid=<pid>" once set up, then runs until stdin ends, SIGTERM, or N seconds have passed.
namespace Targets;

internal static class Program
{
    private static readonly Dictionary<string, Action<Stage>> Behaviours = new()
    {
        ["idle"] = _ => { },
        ["burn"] = Burn.Start,
        ["storm"] = Storm.Start,
        ["events"] = Events.Start,
        ["gc"] = Garbage.Start,
        ["exceptions"] = Exceptions.Start,
        ["locks"] = Locks.Start,
        ["jit"] = Jit.Start,
        ["all"] = StartAll,
        ["hostile"] = Hostile.Start,
        ["exit"] = Exit.Start,
        ["startup"] = Startup.Start,
        ["parts"] = Parts.Start,
        ["shapes"] = Shapes.Start,
        ["waits"] = Waits.Start,
        ["truth"] = Truth.Start,
        ["shares"] = Shares.Start,
        ["numbers"] = Numbers.Start,
        ["payloads"] = Payloads.Start,
        ["meters"] = Meters.Start,
        ["planted"] = Planted.Start,
        ["pending"] = Pending.Start,
        ["mirror"] = Mirror.Start,
        ["graph"] = Graph.Start,
        ["state"] = States.Start,
        ["constructors"] = Constructors.Start,
        ["pool-blocked"] = Pool.StartBlocked,
        ["pool-burst"] = Pool.StartBurst,
        ["pool-drained"] = Pool.StartDrained,
    };

    private static int Main(string[] args)
    {
        if (args.Length == 3 && args[0] == "brief")
            return Brief.Run(args);
        if (args.Length == 0 || !Behaviours.TryGetValue(args[0], out Action<Stage>? start))
        {
            Console.Error.WriteLine($"usage: targets.dll {string.Join('|', Behaviours.Keys)} [key=value ...]");
            return 2;
        }
        using var stage = new Stage(args[1..]);
        start(stage);
        stage.SayReady();
        return stage.RunToEnd();
    }

    /// <summary>Everything a runtime can tell about at once, slow enough to leave a core free.</summary>
    private static void StartAll(Stage stage)
    {
        stage.SetDefault("pause", 50);
        Garbage.Start(stage);
        Exceptions.Start(stage);
        Locks.Start(stage);
        Jit.Start(stage);
        Events.Start(stage);
    }
}
