// What System.Reflection.Metadata reads from the PDB of an assembly, side-car or embedded: a line
// for each sequence point, and one for each method that starts a state machine.
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace Oracle;

internal static class SourceLines
{
    public static void Print(string assembly, TextWriter output)
    {
        using var pe = new PEReader(File.OpenRead(assembly));
        if (!pe.TryOpenAssociatedPortablePdb(assembly, File.OpenRead, out MetadataReaderProvider? provider, out _) || provider is null)
            throw new FileNotFoundException("no portable PDB");
        using (provider)
            PrintAll(provider.GetMetadataReader(), output);
    }

    private static void PrintAll(MetadataReader pdb, TextWriter output)
    {
        output.Write($"guid {new Guid(pdb.DebugMetadataHeader!.Id.AsSpan(0, 16))}\n");
        foreach (MethodDebugInformationHandle handle in pdb.MethodDebugInformation)
        {
            MethodDebugInformation method = pdb.GetMethodDebugInformation(handle);
            int row = MetadataTokens.GetRowNumber(handle);
            foreach (SequencePoint point in method.GetSequencePoints())
            {
                string place = point.IsHidden ? "hidden" : $"{Name(pdb, point.Document)}:{point.StartLine}:{point.StartColumn}";
                output.Write($"{row} {point.Offset} {place}\n");
            }
            MethodDefinitionHandle kickoff = method.GetStateMachineKickoffMethod();
            if (!kickoff.IsNil)
                output.Write($"{MetadataTokens.GetRowNumber(kickoff)} starts {row}\n");
        }
    }

    private static string Name(MetadataReader pdb, DocumentHandle document) => pdb.GetString(pdb.GetDocument(document).Name);
}
