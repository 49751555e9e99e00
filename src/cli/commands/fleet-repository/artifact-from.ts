// `kubenode artifact from-deb | from-tar | from-image`: turns a user's download into a MachineComponent.
import { Option, type Command } from 'commander'
import type { FromFlags } from '#artifacts/authoring/from/make-from.ts'
import type { Io } from '#lib/terminal/io.ts'
import { repeated } from '#lib/flags.ts'
import { outputOption } from '../../output.ts'
import type { SourceKind } from '#artifacts/authoring/from/source.ts'

const KINDS: readonly (readonly [SourceKind, string, string])[] = [
  ['deb', 'make a component from a Debian package; its maintainer scripts are never run', 'the .deb file'],
  [
    'tar',
    'make a component from a release archive, or from one program as it was downloaded',
    '.tar, .tar.gz, .tar.xz, .tar.zst, or a program',
  ],
  ['image', 'make a component from programs in a container image', 'OCI layout: a folder, or an archive of one'],
]

export function registerFrom(artifact: Command, io: Io, recipes: readonly string[]): void {
  for (const [kind, description, what] of KINDS)
    artifact
      .command(`from-${kind}`)
      .description(description)
      .argument('<file>', what)
      .addOption(
        new Option('--recipe <name>', 'what is right for a well-known component: unit, probes, drain rule').choices(
          recipes,
        ),
      )
      .option('--component <name>', 'name of the component; that of the recipe or the package when left out')
      .option('--as <version>', 'version; that of the package or in the file name when left out')
      .option('--arch <arch>', 'processor architecture; that of its programs when left out')
      .option(
        '--take <path[=target]>',
        'a file in it, and its path on hosts; repeat it. Others are left out',
        repeated,
        [],
      )
      .option('--leave <target>', 'a path on hosts that is not to be installed, or a folder; repeat it', repeated, [])
      .option('--file <file=target>', 'a file of yours for hosts, in place of the one in it; repeat it', repeated, [])
      .option('--unit <name>', 'its service when it has several, or none')
      .option(
        '--exec <command>',
        'without a unit: the program that runs as its service, by its path on hosts, and arguments',
      )
      .option('--requires <component=range>', 'a component that must be on the machine first; repeat it', repeated, [])
      .option('--statements <dir>', 'folder for the MachineComponent (JSON)', 'fleet/components')
      .option('--artifacts <dir>', 'folder for the archive that agents download', 'artifacts')
      .option('--url <url>', 'where agents find the archive: absolute, or below their artifact base')
      .option('--key <file>', 'private key (PEM) that signs it')
      .option('--dry-run', 'show what would be made and write nothing')
      .addOption(outputOption(['json', 'yaml']))
      .action(async (path: string, flags: FromFlags) =>
        (await import('#artifacts/authoring/from/make-from.ts')).makeFrom(kind, path, flags, io),
      )
}
