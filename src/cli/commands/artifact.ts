// `kubenode artifact …`: packs, signs and verifies what agents install, and makes the keys for it.
import type { Command } from 'commander'
import type { Io } from '../io.ts'
import { RECIPE_NAMES } from '../artifact/from/recipe-names.ts'
import { artifactErrors } from '../artifact/artifact-errors.ts'
import { registerFrom } from './artifact-from.ts'

interface PackOptions {
  readonly output: string
  readonly statement?: string
  readonly url?: string
  readonly os: string
  readonly arch: string
}

async function pack(folder: string, options: PackOptions, io: Io): Promise<void> {
  const [{ packFolder }, { basename }, files] = await Promise.all([
    import('../artifact/pack.ts'),
    import('node:path'),
    import('../artifact/statement-file.ts'),
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
    import('../artifact/statement-file.ts'),
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
    import('../artifact/statement-file.ts'),
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

async function newKey({ output }: { output: string }, io: Io): Promise<void> {
  const [{ generateKey }, { writeFileSync }] = await Promise.all([import('#api/trust/keys.ts'), import('node:fs')])
  const { pem, publicKey } = generateKey()
  // Never over an existing key: that could not be undone.
  writeFileSync(output, pem, { mode: 0o600, flag: 'wx' })
  io.out(`${JSON.stringify(publicKey)}\n`)
  io.err(`the private key is in ${output}: keep it out of git\n`)
}

interface TrustOptions {
  readonly key: readonly string[]
  readonly signWith: readonly string[]
  readonly output: string
  readonly threshold: string
  readonly sequence: string
  readonly expires: string
}

async function makeTrust(options: TrustOptions, io: Io): Promise<void> {
  const [{ Signer }, { trustBytes }, files] = await Promise.all([
    import('#api/trust/keys.ts'),
    import('#api/trust/trust-document.ts'),
    import('../artifact/statement-file.ts'),
  ])
  const signers = options.signWith.map((path) => new Signer(files.readText(path, 'signing key')))
  const document = {
    sequence: Number(options.sequence),
    expires: options.expires,
    threshold: Number(options.threshold),
    keys:
      options.key.length > 0
        ? options.key.map((k) => JSON.parse(k) as { keyId: string; publicKey: string })
        : signers.map((s) => s.publicKey),
    revoked: [],
    floors: {},
  }
  files.writeJson(options.output, { document, signatures: signers.map((s) => s.sign(trustBytes(document))) })
  io.out(`${options.output}: sequence ${document.sequence}, ${document.keys.length} keys, until ${document.expires}\n`)
}

interface RotateCliOptions {
  readonly components: string
  readonly newKey: string
  readonly oldKey: readonly string[]
  readonly keep: readonly string[]
  readonly expires?: string
  readonly localFleet?: string
}

const YEAR_MS = 365 * 24 * 3_600_000

async function rotate(options: RotateCliOptions, io: Io): Promise<void> {
  const [{ rotateKeys }, { nodesOfLocalFleet, putTrustOnHost }] = await Promise.all([
    import('../artifact/rotate.ts'),
    import('../artifact/trust-on-host.ts'),
  ])
  const now = Date.now()
  const { components, newKey, oldKey, keep, localFleet } = options
  const expires = options.expires ?? new Date(now + YEAR_MS).toISOString()
  // Before anything is written: a folder that is no local fleet is a mistake.
  const nodes = localFleet === undefined ? [] : nodesOfLocalFleet(localFleet)
  const done = rotateKeys({ components, newKey, oldKeys: oldKey, keep, expires, now })
  io.out(`${done.trustPath}: sequence ${done.sequence}, signed with key ${done.key.keyId}, expires ${expires}\n`)
  for (const path of done.statements) io.out(`${path}: signed with key ${done.key.keyId}\n`)
  io.err(`the private key is in ${newKey}: keep it out of git\n`)
  for (const root of nodes) putTrustOnHost(done.trustPath, root, now)
  if (nodes.length > 0) io.out(`${nodes.length} nodes of the local fleet in ${localFleet} trust the new key\n`)
  if (!done.isAccepted && nodes.length === 0)
    io.err(
      `no key of sequence ${done.sequence - 1} signed the new document, so agents that have joined refuse it; run again with --old-key, or on each host: kubenode agent trust ${done.trustPath}\n`,
    )
  io.err(`next: git add ${components} && git commit -m 'trust: rotate the signing keys'\n`)
}

const collect = (value: string, all: readonly string[]): readonly string[] => [...all, value]

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
  const keys = artifact.command('keys').description('create signing keys and trust documents')
  keys
    .command('new')
    .description('create an ed25519 key and print its public half')
    .requiredOption('-f, --output <file>', 'file for the private key')
    .action((options: { output: string }) => newKey(options, io))
  keys
    .command('rotate')
    .description('replace the signing keys of a fleet: new key, next trust document, statements signed again')
    .option('--components <dir>', 'folder with the statements and trust/trust.json', 'fleet/components')
    .requiredOption('--new-key <file>', 'file for the new private key (PEM); an existing key is used')
    .option(
      '--old-key <file>',
      'private key (PEM) of the document in force, so that agents accept the new one',
      collect,
      [],
    )
    .option('--keep <keyId>', 'a key that stays trusted', collect, [])
    .option('--expires <time>', 'RFC 3339; nothing new is installed after it (default: in a year)')
    .option('--local-fleet <dir>', 'data folder of a local fleet whose nodes should trust the new key')
    .action((options: RotateCliOptions) => rotate(options, io))
  keys
    .command('trust')
    .description('write a signed trust document')
    .requiredOption('-f, --output <file>', 'where it goes')
    .option('--key <json>', 'a public key as printed by keys new; absent: those that sign', collect, [])
    .requiredOption('--sign-with <file>', 'private key (PEM) that signs the document', collect, [])
    .option('--threshold <n>', 'keys that must sign a component', '1')
    .option('--sequence <n>', 'must grow with every document', '1')
    .requiredOption('--expires <time>', 'RFC 3339; after it nothing new is installed')
    .action((options: TrustOptions) => makeTrust(options, io))
}
