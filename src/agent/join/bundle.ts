// What a machine needs to join: the address of the API server, a one-time token, its name, and the keys whose components it may trust.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { parseSignedTrust, type SignedTrust, type TrustAnchor } from '#api/trust/trust-document.ts'
import { isLife } from '#identity/certificate-life.ts'
import { AGENT_IDENTITIES, type AgentIdentity } from '#identity/token-life.ts'
import { isTrustAnchor } from '../components/trust-store.ts'
import { agentErrors } from '../agent-errors.ts'
import { parseHostProxy, type HostProxy } from './host-proxy.ts'

export interface JoinBundle {
  readonly server: string
  /** PEM. */
  readonly ca: string
  readonly token: string
  readonly machine: string
  /** UID of the Machine; missing from bundles made by older controllers. */
  readonly uid?: string
  readonly node: string
  readonly cluster: string
  /** The kind of identity that the agent gets; default: a certificate. */
  readonly form?: AgentIdentity
  /** False: a kubelet has registered the Node, and keeps it and its Lease. */
  readonly registerNode?: boolean
  /** Lifetime of the certificate; default: one week. */
  readonly certificateSeconds?: number
  /** Base of relative artifact URLs. */
  readonly artifactBase: string
  /** PEM. */
  readonly artifactCa?: string
  /** The Node's address; default: the host's address towards the API server. */
  readonly nodeAddress?: string
  readonly proxy?: HostProxy
  readonly trust: TrustAnchor
  /** A first document; newer ones are fetched from below the artifact base. */
  readonly trustDocument: SignedTrust | undefined
}

const wrong = (what: string) => new KubeNodeError(agentErrors.KN8003({ what }))

export function parseJoinBundle(value: unknown): JoinBundle {
  if (!isObject(value)) throw wrong('not a JSON object')
  const text = (name: string): string => {
    const v = value[name]
    if (typeof v !== 'string' || v === '' || v.length > 65_536) throw wrong(`${name} is missing`)
    return v
  }
  const machine = text('machine')
  const trust = trustOf(value['trust'])
  const proxy = parseHostProxy(value['proxy'])
  return {
    server: text('server'),
    ca: pemOf(text('caData')),
    token: text('token'),
    machine,
    ...(typeof value['uid'] === 'string' && value['uid'] !== '' && { uid: value['uid'] }),
    node: typeof value['node'] === 'string' ? value['node'] : machine,
    cluster: text('cluster'),
    ...formOf(value),
    artifactBase: text('artifactBase'),
    ...(typeof value['artifactCaData'] === 'string' && { artifactCa: pemOf(text('artifactCaData'), 'artifactCaData') }),
    ...(typeof value['nodeAddress'] === 'string' && { nodeAddress: value['nodeAddress'] }),
    ...defined({ proxy }),
    // Without an explicit true, the Node stays with its current owner: two writers would conflict.
    ...(value['registerNode'] !== undefined && { registerNode: value['registerNode'] === true }),
    ...(isLife(value['certificateSeconds']) && { certificateSeconds: value['certificateSeconds'] }),
    ...trust,
  }
}

/** An unknown form comes from a later version: the agent does not join in any other form than the given one. */
function formOf({ form, uid }: Readonly<Record<string, unknown>>): Pick<JoinBundle, 'form'> {
  if (form === undefined) return {}
  const known = AGENT_IDENTITIES.find((f) => f === form)
  if (known === undefined) throw wrong('this version of the agent does not know its form')
  if (known === 'serviceAccount' && (typeof uid !== 'string' || uid === '')) throw wrong('uid is missing')
  return { form: known }
}

/** Base64 of PEM, as in a kubeconfig; plain PEM is accepted too. */
function pemOf(data: string, name = 'caData'): string {
  const text = data.startsWith('-----BEGIN') ? data : Buffer.from(data, 'base64').toString('utf8')
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw wrong(`${name} is not a certificate`)
  return text
}

/** An anchor alone, or an anchor with the current document. */
function trustOf(value: unknown): Pick<JoinBundle, 'trust' | 'trustDocument'> {
  if (isTrustAnchor(value)) return { trust: value, trustDocument: undefined }
  if (isObject(value) && isTrustAnchor(value['anchor']))
    return { trust: value['anchor'], trustDocument: parseSignedTrust(value['document']) }
  throw wrong('trust has no keys')
}
