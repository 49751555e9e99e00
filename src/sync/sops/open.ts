// Decrypts a tree that sops encrypted with age: every value under its own path, and returns nothing until the MAC over all values is verified. Errors
// name paths, never values. Pure.
import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto'
import { compileRegex } from '#lib/regex.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import { openAgeFile, type AgeIdentity } from './age.ts'
import { leavesOf, mapLeaves, type Leaf, type Tree } from './document.ts'
import { sha256 } from '#lib/sha256.ts'

/** The file's key under which sops keeps its own data. */
const SOPS = 'sops'

type Metadata = ReadonlyMap<string, Tree>

export interface EncryptedTree {
  /** Without sops's own data. */
  readonly tree: ReadonlyMap<string, Tree>
  readonly metadata: Metadata
}

/** Throws what is missing. */
export function encryptedTree(all: ReadonlyMap<string, Tree>): EncryptedTree {
  const metadata = all.get(SOPS)
  if (!(metadata instanceof Map)) throw new Error('is not encrypted by sops: it has no map "sops"')
  return { tree: new Map([...all].filter(([key]) => key !== SOPS)), metadata: metadata as Metadata }
}

export async function openTree(
  { tree, metadata }: EncryptedTree,
  identities: readonly AgeIdentity[],
): Promise<ReadonlyMap<string, Tree>> {
  const isEncrypted = rulesOf(metadata)
  const key = await dataKey(metadata, identities)
  const mac = createHash('sha512')
  const isEncryptedOnly = metadata.get('mac_only_encrypted') === true
  // So that the two settings can never produce the same digest.
  if (isEncryptedOnly) mac.update(sha256(SOPS))
  const opened = mapLeaves(tree, (leaf) => {
    const encrypted = isEncrypted(leaf.path)
    const value = encrypted ? openLeaf(leaf, key) : leaf.value
    if (encrypted || !isEncryptedOnly) mac.update(bytesOf(value))
    return value
  })
  verifyMac(metadata, key, mac.digest('hex').toUpperCase())
  return opened as ReadonlyMap<string, Tree>
}

/** The form in sops's MAC. Encrypted numbers and booleans use their text. */
const bytesOf = (value: Leaf['value']): string =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value)

const SEALED = /^ENC\[AES256_GCM,data:([^,]*),iv:([^,]+),tag:([^,]+),type:([a-z]+)\]$/
const IV_BYTES = 32
const TAG_BYTES = 16
const KEY_BYTES = 32
const TYPES: ReadonlySet<string> = new Set(['str', 'int', 'float', 'bool'])

export const isSealedValue = (value: unknown): boolean =>
  typeof value === 'string' && value.startsWith('ENC[AES256_GCM,')

/** With or without padding; undefined for any other text. */
export function base64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  const padded = bytes.toString('base64')
  return text === padded || text === withoutEnd(padded, /=/) ? bytes : undefined
}

const shown = (path: readonly string[]): string => path.join('.').slice(0, 200)

function openLeaf({ path, value }: Leaf, key: Buffer): string {
  // sops does not encrypt empty texts.
  if (value === '') return ''
  const [, data, iv, tag, type = ''] = (typeof value === 'string' && SEALED.exec(value)) || []
  if (data === undefined || iv === undefined || tag === undefined)
    throw new Error(`has a value at ${shown(path)} that is not encrypted, and should be`)
  if (!TYPES.has(type))
    throw new Error(`has a value of type ${type.slice(0, 20)} at ${shown(path)}, which has no place in a Secret`)
  const plain = gcmOpen(key, { data, iv, tag }, `${path.join(':')}:`)
  if (plain === undefined) throw new Error(`has a value at ${shown(path)} that was changed or moved there`)
  return plain
}

function gcmOpen(
  key: Buffer,
  { data, iv, tag }: { readonly data: string; readonly iv: string; readonly tag: string },
  context: string,
): string | undefined {
  const [sealed, nonce, proof] = [data, iv, tag].map(base64)
  if (sealed === undefined || nonce?.length !== IV_BYTES || proof?.length !== TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(proof)
  try {
    const bytes = Buffer.concat([decipher.update(sealed), decipher.final()])
    const text = bytes.toString('utf8')
    return Buffer.from(text).equals(bytes) ? text : undefined
  } catch {
    // Modified, moved, or encrypted with another key.
    return undefined
  }
}

function verifyMac(metadata: Metadata, key: Buffer, computed: string): void {
  const [mac, when] = [metadata.get('mac'), metadata.get('lastmodified')]
  const [, data, iv, tag] = (typeof mac === 'string' && SEALED.exec(mac)) || []
  if (data === undefined || iv === undefined || tag === undefined || typeof when !== 'string')
    throw new Error('has no MAC: sops.mac or sops.lastmodified is missing or malformed')
  const stored = Buffer.from(gcmOpen(key, { data, iv, tag }, when) ?? '')
  const own = Buffer.from(computed)
  if (stored.length !== own.length || !timingSafeEqual(stored, own))
    throw new Error('does not match its MAC: a value was changed, added, removed or moved after it was encrypted')
}

/** Files that can also be opened by other key services are opened with age. */
const OTHERS = ['kms', 'gcp_kms', 'azure_kv', 'hc_vault', 'pgp', 'hckms'] as const
const MAX_RECIPIENTS = 50

async function dataKey(metadata: Metadata, identities: readonly AgeIdentity[]): Promise<Buffer> {
  if (listIn(metadata, 'key_groups').length > 0 || metadata.has('shamir_threshold'))
    throw new Error('has key groups; encrypt it for recipients of age alone')
  const recipients = listIn(metadata, 'age')
  if (recipients.length === 0) {
    const others = OTHERS.filter((name) => listIn(metadata, name).length > 0)
    throw new Error(
      `is encrypted for ${others.length === 0 ? 'nothing' : others.join(', ')}; KubeNode opens files for age`,
    )
  }
  if (recipients.length > MAX_RECIPIENTS)
    throw new Error(`has ${recipients.length} recipients (limit ${MAX_RECIPIENTS})`)
  for (const entry of recipients) {
    const armored = entry instanceof Map ? (entry as Metadata).get('enc') : undefined
    if (typeof armored !== 'string') throw new Error('has a recipient of age without a key')
    const key = await openKey(armored, identities)
    if (key !== undefined) return key
  }
  const names = recipients
    .map((r) => (r instanceof Map ? (r as Metadata).get('recipient') : ''))
    .filter((r) => typeof r === 'string')
  throw new Error(
    `is encrypted for ${names
      .map((r) => printable(r))
      .slice(0, 3)
      .join(', ')}, and the key is for ${
      identities
        .map((i) => i.recipient)
        .slice(0, 3)
        .join(', ') || 'none'
    }`,
  )
}

const printable = (recipient: string): string =>
  /^age1[a-z0-9]{1,120}$/.test(recipient) ? recipient : 'another kind of key'

async function openKey(armored: string, identities: readonly AgeIdentity[]): Promise<Buffer | undefined> {
  let key: Buffer | undefined
  try {
    key = await openAgeFile(armored, identities)
  } catch (cause) {
    throw new Error(
      `has a recipient whose age file cannot be used: ${cause instanceof Error ? cause.message : 'it is malformed'}`,
      { cause },
    )
  }
  if (key !== undefined && key.length !== KEY_BYTES) throw new Error('has a key of a wrong length')
  return key
}

function listIn(metadata: Metadata, name: string): readonly Tree[] {
  const list = metadata.get(name)
  return Array.isArray(list) ? (list as readonly Tree[]) : []
}

const RULES = ['unencrypted_suffix', 'encrypted_suffix', 'unencrypted_regex', 'encrypted_regex'] as const
const UNSUPPORTED = ['encrypted_comment_regex', 'unencrypted_comment_regex'] as const
/** The suffix that sops writes when no rule is given, and assumes when none is written. */
const DEFAULT_SUFFIX = '_unencrypted'
const MAX_RULE_CHARS = 1_000

/** Whether the value at a path is encrypted, by sops's rules. */
function rulesOf(metadata: Metadata): (path: readonly string[]) => boolean {
  const unsupported = UNSUPPORTED.find((name) => (metadata.get(name) ?? '') !== '')
  if (unsupported !== undefined) throw new Error(`uses ${unsupported}, which KubeNode does not support`)
  const given = RULES.flatMap((name) => {
    const rule = metadata.get(name) ?? ''
    if (typeof rule !== 'string' || rule.length > MAX_RULE_CHARS) throw new Error(`has an unusable ${name}`)
    return rule === '' ? [] : [{ name, rule }]
  })
  if (given.length > 1) throw new Error(`has ${given.map((g) => g.name).join(' and ')}, of which sops takes one`)
  const { name, rule } = given[0] ?? { name: 'unencrypted_suffix', rule: DEFAULT_SUFFIX }
  const matches = name.endsWith('regex') ? regexOf(name, rule) : (key: string) => key.endsWith(rule)
  const isInverse = name.startsWith('unencrypted')
  return (path) => path.some(matches) !== isInverse
}

/** Same regular expression engine as sops. */
function regexOf(name: string, rule: string): (key: string) => boolean {
  try {
    const regex = compileRegex(rule)
    return (key) => regex.test(key)
  } catch (cause) {
    throw new Error(`has an unusable ${name}`, { cause })
  }
}

/** Paths of values that should be encrypted by the rules but are not: readable without a key. */
export function unsealedPaths({ tree, metadata }: EncryptedTree): readonly string[] {
  const isEncrypted = rulesOf(metadata)
  return [...leavesOf(tree)]
    .filter(({ path, value }) => isEncrypted(path) && value !== '' && !isSealedValue(value))
    .map(({ path }) => shown(path))
}
