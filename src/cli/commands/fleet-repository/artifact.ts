// `kubenode artifact …`: packs, signs and verifies what agents install, and creates the keys for it.
import type { Command } from 'commander'
import { RECIPE_NAMES } from '#artifacts/authoring/from/recipe-names.ts'
import type { PackOptions } from '#artifacts/authoring/release-artifact.ts'
import type { Io } from '#lib/terminal/io.ts'
import { registerFrom } from './artifact-from.ts'
import { registerKeys } from './artifact-keys.ts'

const authoring = () => import('#artifacts/authoring/release-artifact.ts')

export function register(program: Command, io: Io): void {
  const artifact = program.command('artifact').description('pack, sign and verify what agents install')
  artifact
    .command('pack')
    .description('pack a folder into a tar with fixed metadata')
    .argument('<folder>', 'the root of what is installed')
    .requiredOption('-f, --output <file>', 'the tar to write')
    .option('--statement <file>', 'MachineComponent (JSON) in which to set the digest; old signatures are dropped')
    .option('--url <url>', 'where agents find it: absolute, or below their artifact base')
    .option('--os <os>', 'operating system it is for', 'linux')
    .option('--arch <arch>', 'processor architecture it is for', 'any')
    .action(async (folder: string, options: PackOptions) => (await authoring()).pack(folder, options, io))
  artifact
    .command('sign')
    .description('sign a MachineComponent')
    .argument('<statement>', 'MachineComponent as JSON')
    .requiredOption('--key <file>', 'private key (PEM)')
    .action(async (path: string, options: { key: string }) => (await authoring()).sign(path, options, io))
  artifact
    .command('verify')
    .description('check a MachineComponent against a trust document, and an artifact against the digest in it')
    .argument('<statement>', 'MachineComponent as JSON')
    .requiredOption('--trust <file>', 'trust document')
    .option('--artifact <file>', 'the tar')
    .action(async (path: string, options: { trust: string; artifact?: string }) =>
      (await authoring()).verify(path, options, io),
    )
  registerFrom(artifact, io, RECIPE_NAMES)
  registerKeys(artifact, io)
}
