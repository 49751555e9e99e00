// `kubenode artifact …`: packs, signs and verifies what agents install, and makes the keys for it.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { RECIPE_NAMES } from '#artifacts/authoring/from/recipe-names.ts'
import { artifactErrors } from '#artifacts/authoring/artifact-errors.ts'
import { registerFrom } from './artifact-from.ts'
import { registerKeys } from './artifact-keys.ts'

interface PackOptions {
  readonly output: string
  readonly statement?: string
  readonly url?: string
  readonly os: string
  readonly arch: string
}

async function pack(folder: string, options: PackOptions, io: Io): Promise<void> {
  const [{ packFolder }, { basename }, files] = await Promise.all([
    import('#artifacts/authoring/pack.ts'),
    import('node:path'),
    import('#artifacts/authoring/statement-file.ts'),
  ])
  const packed = await packFolder(folder, options.output)
  if (options.statement !== undefined) {
    const entry = {
      os: options.os,
      arch: options.arch,
      url: options.url ?? basename(options.output),
      sha256: packed.sha256,
      size: packed.size,
    }
    files.writeJson(options.statement, files.readUnpackedStatement(options.statement, entry))
    io.err(`${options.statement} names the new digest; sign it with kubenode artifact sign\n`)
  }
  io.out(`${JSON.stringify({ file: options.output, ...packed })}\n`)
}

async function sign(path: string, { key }: { key: string }, io: Io): Promise<void> {
  const [{ Signer }, { signStatement }, files] = await Promise.all([
    import('#api/trust/keys.ts'),
    import('#api/trust/statement.ts'),
    import('#artifacts/authoring/statement-file.ts'),
  ])
  const signer = new Signer(files.readText(key, 'signing key'))
  const statement = files.readStatement(path)
  // Signed bytes leave out defaults, so both the input form and the stored form work.
  const spec = signStatement(statement.spec as Parameters<typeof signStatement>[0], signer)
  files.writeJson(path, { ...statement, spec })
  io.out(`${path}: signed by ${signer.publicKey.keyId}\n`)
}

async function verify(path: string, options: { trust: string; artifact?: string }, io: Io): Promise<void> {
  const [
    { judgeStatement },
    { parseSignedTrust, judgeTrust, anchorOf },
    { KubeNodeError },
    files,
    { createHash },
    { readFileSync },
  ] = await Promise.all([
    import('#api/trust/statement.ts'),
    import('#api/trust/trust-document.ts'),
    import('#lib/errors.ts'),
    import('#artifacts/authoring/statement-file.ts'),
    import('node:crypto'),
    import('node:fs'),
  ])
  const signed = parseSignedTrust(files.readJson(options.trust, 'trust document'))
  if (signed === undefined) throw new KubeNodeError(artifactErrors.KN1106({ trust: options.trust }))
  const now = Date.now()
  const self = judgeTrust({ ...anchorOf(signed.document), sequence: 0 }, signed, now)
  if (self.kind === 'Refused')
    throw new KubeNodeError(artifactErrors.KN1107({ trust: options.trust, why: self.reason }))
  const statement = files.readStatement(path)
  const verdict = judgeStatement(statement.spec as Parameters<typeof judgeStatement>[0], self.trust, now)
  if (verdict.kind === 'Refused') throw new KubeNodeError(artifactErrors.KN1108({ path, why: verdict.reason }))
  if (options.artifact !== undefined) {
    const digest = createHash('sha256').update(readFileSync(options.artifact)).digest('hex')
    if (!(statement.spec.artifacts ?? []).some((a) => a.sha256 === digest)) {
      throw new KubeNodeError(artifactErrors.KN1109({ artifact: options.artifact, digest, path }))
    }
  }
  io.out(`${path}: ${statement.spec.component} ${statement.spec.version} is trusted\n`)
}

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
    .action((folder: string, options: PackOptions) => pack(folder, options, io))
  artifact
    .command('sign')
    .description('sign a MachineComponent')
    .argument('<statement>', 'MachineComponent as JSON')
    .requiredOption('--key <file>', 'private key (PEM)')
    .action((path: string, options: { key: string }) => sign(path, options, io))
  artifact
    .command('verify')
    .description('check a MachineComponent against a trust document, and an artifact against the digest in it')
    .argument('<statement>', 'MachineComponent as JSON')
    .requiredOption('--trust <file>', 'trust document')
    .option('--artifact <file>', 'the tar')
    .action((path: string, options: { trust: string; artifact?: string }) => verify(path, options, io))
  registerFrom(artifact, io, RECIPE_NAMES)
  registerKeys(artifact, io)
}
