// What a Secret provides for a source over ssh: its own key and the trusted host keys, plus the ssh settings of one fetch. The host's own configuration is ignored.
import { createHash } from 'node:crypto'
import type { Unusable } from './https-access.ts'
import { Malformed, WireReader } from '../trust/ssh-wire.ts'
import { defined } from '#lib/defined.ts'
import { withoutEnd } from '#lib/without-ends.ts'

export interface SshAccess {
  readonly kind: 'SshKey'
  readonly identity: string
  readonly knownHosts: string
  /** Fingerprint of the public key, if the key file contains it; for messages. */
  readonly fingerprint?: string
}

type Fields = (name: string) => string | undefined

/** An RSA key of 16,384 bits takes 13 KB. */
const MAX_IDENTITY_CHARS = 32_768
/** All host keys of a large git host take 2 KB. */
const MAX_KNOWN_HOSTS_CHARS = 65_536

export function sshAccess(field: Fields): SshAccess | Unusable {
  const [identity, hosts] = [field('ssh-privatekey'), field('known_hosts')]
  const unusable = (why: string): Unusable => ({ kind: 'Unusable', why })
  if (identity === undefined || hosts === undefined)
    return unusable(`has no ${identity === undefined ? 'ssh-privatekey' : 'known_hosts'}`)
  if (identity.length > MAX_IDENTITY_CHARS)
    return unusable(`has an ssh-privatekey of more than ${MAX_IDENTITY_CHARS} characters`)
  if (hosts.length > MAX_KNOWN_HOSTS_CHARS)
    return unusable(`has a known_hosts of more than ${MAX_KNOWN_HOSTS_CHARS} characters`)
  const key = asLines(identity)
  const problem = problemOf(key)
  if (problem !== undefined) return unusable(problem)
  const knownHosts = asLines(hosts)
  if (!knownHosts.split('\n').some(isHostLine))
    return unusable(
      'has a known_hosts without a line such as "git.example.org ssh-ed25519 AAAA…"; ssh-keyscan shows it',
    )
  const fingerprint = fingerprintIn(key)
  return { kind: 'SshKey', identity: key, knownHosts, ...defined({ fingerprint }) }
}

/** Also fixes files edited on Windows: ssh rejects a key with carriage returns. */
const asLines = (text: string): string => `${text.replaceAll('\r\n', '\n').trimEnd()}\n`

const isHostLine = (line: string): boolean =>
  /^(@[a-z-]+ +)?[^#@\s][^\s]*\s+[a-z0-9@.-]+\s+[A-Za-z0-9+/]{16}/.test(line)

const BLOCK = /^-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----\n([^]*)\n-----END \1PRIVATE KEY-----\n$/

/** The rest of a sentence about the Secret. No user is present to type a passphrase. */
function problemOf(identity: string): string | undefined {
  const [, kind, body = ''] = BLOCK.exec(identity) ?? []
  if (kind === undefined) return 'has an ssh-privatekey that is not a private key of OpenSSH or in PEM'
  const isLocked =
    kind === 'ENCRYPTED ' ||
    /^Proc-Type: 4,ENCRYPTED$/m.test(body) ||
    (kind === 'OPENSSH ' && opened(body)?.cipher !== 'none')
  return isLocked
    ? 'has an ssh-privatekey with a passphrase, or a damaged one; make one with ssh-keygen -N ""'
    : undefined
}

const MAGIC = 'openssh-key-v1\0'

/** The part of OpenSSH's own format that is never encrypted. */
function opened(body: string): { readonly cipher: string; readonly publicKey: Buffer } | undefined {
  const reader = new WireReader(Buffer.from(body, 'base64'))
  try {
    if (reader.take(MAGIC.length).toString('latin1') !== MAGIC) return undefined
    const cipher = reader.text()
    reader.string()
    reader.string()
    return reader.number() === 1 ? { cipher, publicKey: reader.string() } : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

function fingerprintIn(identity: string): string | undefined {
  const [, kind, body = ''] = BLOCK.exec(identity) ?? []
  const found = kind === 'OPENSSH ' ? opened(body) : undefined
  if (found === undefined) return undefined
  return `SHA256:${withoutEnd(createHash('sha256').update(found.publicKey).digest('base64'), /=/)}`
}

/** A server that accepts the connection but sends nothing delays one source by at most this long. */
const CONNECT_SECONDS = 20
const ALIVE_SECONDS = 15

interface SshFiles {
  readonly key: string
  readonly knownHosts: string
  /** Settings for the address. */
  readonly at: readonly (readonly [string, string])[]
}

/** The whole ssh configuration: with its own file, ssh reads neither the user's nor the host's. */
export function sshConfig({ key, knownHosts, at }: SshFiles): string {
  const settings: readonly (readonly [string, string])[] = [
    ...at,
    ['BatchMode', 'yes'],
    ['StrictHostKeyChecking', 'yes'],
    ['UserKnownHostsFile', quoted(knownHosts)],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['UpdateHostKeys', 'no'],
    ['VerifyHostKeyDNS', 'no'],
    ['IdentityFile', quoted(key)],
    ['IdentitiesOnly', 'yes'],
    ['IdentityAgent', 'none'],
    ['AddKeysToAgent', 'no'],
    ['PreferredAuthentications', 'publickey'],
    ['PasswordAuthentication', 'no'],
    ['KbdInteractiveAuthentication', 'no'],
    ['GSSAPIAuthentication', 'no'],
    ['HostbasedAuthentication', 'no'],
    ['ForwardAgent', 'no'],
    ['ForwardX11', 'no'],
    ['ClearAllForwardings', 'yes'],
    ['PermitLocalCommand', 'no'],
    ['ControlMaster', 'no'],
    ['ControlPath', 'none'],
    ['CanonicalizeHostname', 'no'],
    ['RequestTTY', 'no'],
    ['ConnectTimeout', String(CONNECT_SECONDS)],
    ['ServerAliveInterval', String(ALIVE_SECONDS)],
    ['ServerAliveCountMax', '2'],
    ['LogLevel', 'ERROR'],
  ]
  return settings.map(([name, value]) => `${name} ${value}\n`).join('')
}

/** ssh expands percent signs in file names. */
const quoted = (path: string): string => `"${path.replaceAll('%', '%%')}"`
