// The agent's identity: its machine, cluster, key and certificate. Bound to the host it was created on: a copied disk image is refused.
import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { holderOf } from '#lib/x509/holder.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { machineUidGroup } from '#api/names.ts'
import type { AgentIdentity } from '#identity/token-life.ts'
import type { TrustAnchor } from '#api/trust/trust-document.ts'
import { isTrustAnchor } from '../components/trust-store.ts'
import { readState, removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { pairFile, identityFile, tokenFile, type NodeDir } from '../node-dir.ts'
import { agentErrors } from '../agent-errors.ts'
import type { HostProxy } from './host-proxy.ts'

export interface Identity {
  readonly format: 1
  readonly server: string
  readonly ca: string
  readonly machine: string
  readonly node: string
  /** UID of the Machine that the certificate is for. */
  readonly uid?: string
  readonly cluster: string
  /** The kind of identity that the host joined with; default: a certificate. */
  readonly form?: AgentIdentity
  /** Whether the agent creates and keeps the Node, as decided at the join; default: true. */
  readonly registerNode?: boolean
  readonly artifactBase: string
  /** PEM: authorities trusted for artifacts; default: those of the system. */
  readonly artifactCa?: string
  /** The Node's address; default: the host's address towards the API server. */
  readonly nodeAddress?: string
  readonly proxy?: HostProxy
  readonly trust: TrustAnchor
  /** Distinguishes this host from a copy of its disk. */
  readonly host: string
  /** Digest of the token used for the join: finding the same token again is not a reason to rejoin. */
  readonly joinedWith?: string
}

/** Key and certificate in one file, so that they change together. */
export interface Pair {
  readonly key: string
  readonly certificate: string
}

/** For an agent with a service account: the key opens tokens that are sealed to it, and never leaves the host. */
export interface TokenPair {
  readonly key: string
  /** UID of the account's Machine. */
  readonly uid: string
  readonly token: string
  readonly askAgainMs: number
}

export type Credential = Pair | TokenPair

export const isTokenPair = (credential: Credential): credential is TokenPair => 'token' in credential

export interface IdentityDeps {
  readonly files: Files
  readonly dir: NodeDir
}

/** The host's machine id if it exists, plus the folder itself: a copy is a different folder. */
export async function hostMark({ files, dir }: IdentityDeps): Promise<string> {
  const own = (await files.read(join(dir.root, 'etc/machine-id')))?.toString('utf8').trim()
  const { dev, ino } = statSync(dir.state)
  return own === undefined || own === '' ? `folder:${dev}:${ino}` : `machine-id:${own}`
}

const parseIdentity = (v: unknown): Identity | undefined =>
  isObject(v) &&
  v['format'] === 1 &&
  ['server', 'ca', 'machine', 'node', 'cluster', 'artifactBase', 'host'].every((k) => typeof v[k] === 'string') &&
  isTrustAnchor(v['trust'])
    ? (v as unknown as Identity)
    : undefined

export async function readIdentity({ files, dir }: IdentityDeps): Promise<Identity | undefined> {
  return readState(files, identityFile(dir), parseIdentity)
}

export const writeIdentity = ({ files, dir }: IdentityDeps, identity: Identity): Promise<void> =>
  writeDurably(files, identityFile(dir), JSON.stringify(identity), 0o600)

export function refuseClone(identity: Identity, host: string): void {
  if (identity.host === host) return
  throw new KubeNodeError(agentErrors.KN8005({ machine: identity.machine, boundHost: identity.host, thisHost: host }))
}

const KEY = /-----BEGIN PRIVATE KEY-----[\s\S]+?-----END PRIVATE KEY-----\n?/
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g

/** Undefined when there is none, or when key and certificate do not match. */
export async function readPair({ files, dir }: IdentityDeps): Promise<Pair | undefined> {
  const text = (await files.read(pairFile(dir)))?.toString('utf8')
  const key = text === undefined ? undefined : KEY.exec(text)?.[0]
  const certificate = text?.match(CERTIFICATE)?.join('')
  return key === undefined || certificate === undefined || lifeOf(certificate) === undefined
    ? undefined
    : { key, certificate }
}

export const writePair = ({ files, dir }: IdentityDeps, { key, certificate }: Pair): Promise<void> =>
  writeDurably(files, pairFile(dir), `${key.trimEnd()}\n${certificate}`, 0o600)

const parseTokenPair = (v: unknown): TokenPair | undefined =>
  isObject(v) && ['key', 'uid', 'token'].every((k) => typeof v[k] === 'string') && typeof v['askAgainMs'] === 'number'
    ? (v as unknown as TokenPair)
    : undefined

/** The credential in the form that the host joined with; undefined when there is none. */
export const readCredential = (deps: IdentityDeps, form: AgentIdentity | undefined): Promise<Credential | undefined> =>
  form === 'serviceAccount' ? readState(deps.files, tokenFile(deps.dir), parseTokenPair) : readPair(deps)

export const writeCredential = (deps: IdentityDeps, credential: Credential): Promise<void> =>
  isTokenPair(credential)
    ? writeDurably(deps.files, tokenFile(deps.dir), JSON.stringify(credential), 0o600)
    : writePair(deps, credential)

/** Called after a host rejoined in the other form. */
export const removeOther = ({ files, dir }: IdentityDeps, credential: Credential): Promise<void> =>
  removeDurably(files, isTokenPair(credential) ? pairFile(dir) : tokenFile(dir))

/** UID of the Machine that the credential is for. */
export const uidOf = (credential: Credential): string | undefined =>
  isTokenPair(credential) ? credential.uid : machineUidIn(credential.certificate)

export interface Life {
  readonly from: number
  readonly to: number
}

const UID_GROUP = machineUidGroup('')

/** The Machine's UID in a certificate; admission policies compare it with the agent's writes. */
export function machineUidIn(certificate: string): string | undefined {
  try {
    const holder = holderOf(new X509Certificate(certificate))
    return holder?.organizations.find((o) => o.startsWith(UID_GROUP))?.slice(UID_GROUP.length)
  } catch {
    return undefined
  }
}

export function lifeOf(certificate: string): Life | undefined {
  try {
    const { validFrom, validTo } = new X509Certificate(certificate)
    return { from: Date.parse(validFrom), to: Date.parse(validTo) }
  } catch {
    return undefined
  }
}
