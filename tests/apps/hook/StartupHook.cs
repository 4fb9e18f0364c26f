// The runtime looks for exactly this: a class of this name in no namespace, with this method.
internal class StartupHook
{
    /// <summary>Writes one line to the file named by SONDE_HOOK_FILE, or to stdout if there is none.</summary>
    public static void Initialize()
    {
        string line = $"hook pid={Environment.ProcessId} runtime={Environment.Version}\n";
        string? path = Environment.GetEnvironmentVariable("SONDE_HOOK_FILE");

        if (string.IsNullOrEmpty(path))
            Console.Out.Write(line);
        else
            File.AppendAllText(path, line);
    }
}
