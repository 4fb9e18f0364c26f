// Throws what it is told, again and again: planted FILE [pause=20]. A line of the file is the message of an exception.
namespace Targets;

internal static class Planted
{
    public static void Start(Stage stage)
    {
        string[] messages = File.ReadAllLines(stage.Args[0]);
        stage.Repeat("planted", stage.Number("pause", 20), round =>
        {
            try { Throw(messages[round % messages.Length]); }
            catch (InvalidOperationException) { }
        });
    }

    private static void Throw(string message) => throw new InvalidOperationException(message);
}
