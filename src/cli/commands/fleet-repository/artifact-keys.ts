// `kubenode artifact keys …`: creates signing keys and trust documents, and replaces a fleet's keys.
import type { Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { repeated } from '#lib/flags.ts'

async function newKey({ output }: { output: string }, io: Io): Promise<void> {
  const [{ generateKey }, { writeFileSync }] = await Promise.all([import('#api/trust/keys.ts'), import('node:fs')])
  const { pem, publicKey } = generateKey()
  // Never overwrite an existing key: that cannot be undone.
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
  const [{ Signer }, { newTrust }, files] = await Promise.all([
    import('#api/trust/keys.ts'),
    import('#artifacts/authoring/new-trust.ts'),
    import('#artifacts/authoring/statement-file.ts'),
  ])
  const { output, sequence, threshold, expires, key: keys } = options
  const signers = options.signWith.map((path) => new Signer(files.readText(path, 'signing key')))
  const signed = newTrust({ output, sequence, threshold, expires, keys }, signers, Date.now())
  files.writeJson(output, signed)
  const { document } = signed
  io.out(`${output}: sequence ${document.sequence}, ${document.keys.length} keys, until ${document.expires}\n`)
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
  const [{ noTime }, { rotateKeys }, { nodesOfLocalFleet, putTrustOnHost }] = await Promise.all([
    import('#artifacts/authoring/new-trust.ts'),
    import('#artifacts/authoring/rotate.ts'),
    import('#agent/join/trust-on-host.ts'),
  ])
  const now = Date.now()
  const { components, newKey, oldKey, keep, localFleet } = options
  const expires = options.expires ?? new Date(now + YEAR_MS).toISOString()
  if (Number.isNaN(Date.parse(expires))) throw noTime(`${components}/trust/trust.json`, expires)
  // Checked before writing anything: the folder must be a local fleet.
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

export function registerKeys(artifact: Command, io: Io): void {
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
      repeated,
      [],
    )
    .option('--keep <keyId>', 'a key that stays trusted', repeated, [])
    .option('--expires <time>', 'RFC 3339; nothing new is installed after it (default: in a year)')
    .option('--local-fleet <dir>', 'data folder of a local fleet whose nodes should trust the new key')
    .action((options: RotateCliOptions) => rotate(options, io))
  keys
    .command('trust')
    .description('write a signed trust document')
    .requiredOption('-f, --output <file>', 'where it goes')
    .option('--key <json>', 'a public key as printed by keys new; absent: those that sign', repeated, [])
    .requiredOption('--sign-with <file>', 'private key (PEM) that signs the document', repeated, [])
    .option('--threshold <n>', 'keys that must sign a component', '1')
    .option('--sequence <n>', 'must grow with every document', '1')
    .requiredOption('--expires <time>', 'RFC 3339; after it nothing new is installed')
    .action((options: TrustOptions) => makeTrust(options, io))
}
