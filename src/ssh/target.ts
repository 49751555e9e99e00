// Pure: whom a session is for, and the whole ssh configuration of it. With its own file, ssh reads neither the user's configuration nor the host's.
import { isIP } from 'node:net'

export interface SshServer {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly trust: HostTrust
}

export type HostTrust =
  /** A line of a public key file, with or without a host before it. */
  | { readonly kind: 'Pinned'; readonly hostKey: string }
  /** Public key of an authority whose host certificates are accepted for the name or address. */
  | { readonly kind: 'Authority'; readonly hostCA: string }
  /** Whatever key the server presents is accepted, and reported. Only with a person's word. */
  | { readonly kind: 'FirstUse' }

export interface SshTarget extends SshServer {
  /** The only way to the host. Its key is never accepted on first use. */
  readonly jump?: SshServer | undefined
}

export type SshIdentity =
  /** A private key of OpenSSH without a passphrase, and its certificate, if there is one. */
  | { readonly kind: 'Key'; readonly privateKey: string; readonly certificate?: string | undefined }
  /** Socket of an ssh-agent. */
  | { readonly kind: 'Agent'; readonly socket: string }

const HOST_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/
const USER = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/
const PUBLIC_KEY =
  /(?:^|[ \t])((?:sk-)?(?:ssh-[a-z0-9]+|ecdsa-sha2-nistp\d{3})(?:@openssh\.com)? [A-Za-z0-9+/]{20,4096}={0,2})(?=\s|$)/

/** Undefined: it contains no public key. */
export const publicKeyIn = (text: string): string | undefined => PUBLIC_KEY.exec(text)?.[1]

/** The rest of a sentence about the target. Nothing that passes can be an option or a percent sign of ssh. */
export function targetProblem(target: SshTarget): string | undefined {
  const { jump } = target
  if (jump?.trust.kind === 'FirstUse') return 'the jump host needs a host key or an authority'
  return serverProblem(target) ?? (jump && serverProblem(jump))
}

function serverProblem({ host, port, user, trust }: SshServer): string | undefined {
  if (isIP(host) === 0 && !HOST_NAME.test(host)) return `${JSON.stringify(host)} is no host name or address`
  if (host.includes('%')) return `${JSON.stringify(host)} has a zone`
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return `${port} is no port`
  if (!USER.test(user)) return `${JSON.stringify(user)} is no user name`
  const key = trust.kind === 'Pinned' ? trust.hostKey : trust.kind === 'Authority' ? trust.hostCA : undefined
  if (key !== undefined && (publicKeyIn(key) === undefined || key.trim().includes('\n')))
    return 'the host key is no line such as ssh-ed25519 AAAA…'
  return undefined
}

/** Names in ssh's own messages, and in known_hosts. */
export const TARGET = 'kubenode-target'
export const JUMP = 'kubenode-jump'

export interface SshFiles {
  readonly knownHosts: string
  readonly jumpKnownHosts: string
  readonly key: string
  readonly certificate: string
}

const CONNECT_SECONDS = 10
const ALIVE_SECONDS = 5
const ALIVE_COUNT = 3

export function sshConfig(target: SshTarget, identity: SshIdentity, files: SshFiles): string {
  const { jump } = target
  const settings: readonly (readonly [string, string])[] = [
    ['Host', TARGET],
    ...server(target, TARGET, files.knownHosts),
    ['ProxyJump', jump === undefined ? 'none' : JUMP],
    ...(jump === undefined ? [] : ([['Host', JUMP], ...server(jump, JUMP, files.jumpKnownHosts)] as const)),
    ['Host', '*'],
    ['BatchMode', 'yes'],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['UpdateHostKeys', 'no'],
    ['VerifyHostKeyDNS', 'no'],
    ['CheckHostIP', 'no'],
    ['HashKnownHosts', 'no'],
    ...identitySettings(identity, files),
    ['AddKeysToAgent', 'no'],
    ['PreferredAuthentications', 'publickey'],
    ['PasswordAuthentication', 'no'],
    ['KbdInteractiveAuthentication', 'no'],
    ['GSSAPIAuthentication', 'no'],
    ['HostbasedAuthentication', 'no'],
    ['ForwardAgent', 'no'],
    ['ForwardX11', 'no'],
    ['Tunnel', 'no'],
    ['ClearAllForwardings', 'yes'],
    ['PermitLocalCommand', 'no'],
    ['ControlMaster', 'no'],
    ['ControlPath', 'none'],
    ['CanonicalizeHostname', 'no'],
    ['RequestTTY', 'no'],
    ['EscapeChar', 'none'],
    ['ConnectTimeout', String(CONNECT_SECONDS)],
    ['ServerAliveInterval', String(ALIVE_SECONDS)],
    ['ServerAliveCountMax', String(ALIVE_COUNT)],
    ['LogLevel', 'ERROR'],
  ]
  return settings.map(([name, value]) => `${name} ${value}\n`).join('')
}

const server = (
  { host, port, user, trust }: SshServer,
  alias: string,
  knownHosts: string,
): readonly (readonly [string, string])[] => [
  ['HostName', host],
  ['Port', String(port)],
  ['User', user],
  ['UserKnownHostsFile', quoted(knownHosts)],
  ['StrictHostKeyChecking', trust.kind === 'FirstUse' ? 'accept-new' : 'yes'],
  // A host certificate names the host, so that one names no alias.
  ...(trust.kind === 'Authority' ? [] : ([['HostKeyAlias', alias]] as const)),
]

const identitySettings = (identity: SshIdentity, files: SshFiles): readonly (readonly [string, string])[] =>
  identity.kind === 'Agent'
    ? [
        ['IdentityAgent', quoted(identity.socket)],
        ['IdentityFile', 'none'],
      ]
    : [
        ['IdentityAgent', 'none'],
        ['IdentitiesOnly', 'yes'],
        ['IdentityFile', quoted(files.key)],
        ...(identity.certificate === undefined ? [] : ([['CertificateFile', quoted(files.certificate)]] as const)),
      ]

/** The content of known_hosts. For a first use it is empty, and ssh writes the key into it. */
export function knownHostsOf({ trust }: SshServer, alias: string): string {
  switch (trust.kind) {
    case 'Pinned':
      return `${alias} ${publicKeyIn(trust.hostKey) ?? ''}\n`
    case 'Authority':
      return `@cert-authority * ${publicKeyIn(trust.hostCA) ?? ''}\n`
    case 'FirstUse':
      return ''
    default:
      return trust satisfies never
  }
}

/** ssh expands percent signs in file names. */
const quoted = (path: string): string => `"${path.replaceAll('%', '%%')}"`
