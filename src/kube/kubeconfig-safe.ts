// Reads a kubeconfig from a Secret. It may contain only data: nothing that makes this process run, read or trust anything else.
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { parseDocuments } from '#lib/documents.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { ConnectionConfig } from './http/connection.ts'
import { kubeconfigErrors } from './kubeconfig-errors.ts'

type KubeconfigCode = keyof typeof kubeconfigErrors

export interface KubeconfigProblem {
  readonly code: KubeconfigCode
  /** JSON pointer into the kubeconfig. */
  readonly pointer: string
  readonly message: string
  readonly line: number
  readonly column: number
}

export interface SafeKubeconfig {
  readonly config: ConnectionConfig
  readonly context: string
}

/** A kubeconfig with certificates has some kilobytes; the YAML parser needs a few milliseconds for each. */
const MAX_BYTES = 64 * 1024
/** No API server accepts longer headers. */
const MAX_TOKEN = 16 * 1024
const MAX_SERVER = 2_048

type Report = (code: KubeconfigCode, pointer: string, message: string) => void
type Fields = Readonly<Record<string, unknown>>

/** Throws a KubeNodeError that lists every problem; `origin` names the object ("secret kubenode-system/edge-1, key value"). */
export function parseSafeKubeconfig(text: string, origin: string, context?: string): SafeKubeconfig {
  const { problems, result } = readSafeKubeconfig(text, context)
  if (result !== undefined && problems.length === 0) return result
  const [first] = problems
  const listed = problems
    .map((p) => `${p.line}:${p.column} ${p.pointer === '' ? '/' : p.pointer}: ${p.message}`)
    .join('; ')
  throw new KubeNodeError(kubeconfigErrors[first?.code ?? 'KN2100']({ origin, problems: listed }), {
    data: { problems: problems.map(({ code, pointer }) => ({ code, pointer })) },
  })
}

export function safeKubeconfigProblems(text: string): readonly KubeconfigProblem[] {
  return readSafeKubeconfig(text, undefined).problems
}

const MALFORMED = 'not well-formed YAML'
const ALIASES = /^\d+ aliases /
const NO_ALIASES = 'it has YAML aliases (*name); write the values out'

function readSafeKubeconfig(
  text: string,
  wanted: string | undefined,
): { problems: readonly KubeconfigProblem[]; result: SafeKubeconfig | undefined } {
  const problems: KubeconfigProblem[] = []
  const start = { line: 1, column: 1 }
  if (Buffer.byteLength(text) > MAX_BYTES) {
    problems.push({ code: 'KN2100', pointer: '', message: `it is larger than ${MAX_BYTES} bytes`, ...start })
    return { problems, result: undefined }
  }
  const parsed = parseDocuments(text, { refuseAliases: true })
  // Leave out the parser's message: it may quote the text, which contains credentials.
  for (const { line, column, message } of parsed.problems)
    problems.push({
      code: 'KN2100',
      pointer: '',
      message: ALIASES.test(message) ? NO_ALIASES : MALFORMED,
      line,
      column,
    })
  const [document, ...more] = parsed.documents
  if (problems.length === 0 && (document === undefined || more.length > 0))
    problems.push({ code: 'KN2100', pointer: '', message: 'it must contain exactly one document', ...start })
  if (document === undefined || problems.length > 0) return { problems, result: undefined }
  const report: Report = (code, pointer, message) =>
    problems.push({ code, pointer, message, ...document.placeOf(pointer) })
  const result = readConfig(document.value, wanted, report)
  return { problems, result }
}

const ROOT_FIELDS = [
  'apiVersion',
  'kind',
  'clusters',
  'users',
  'contexts',
  'current-context',
  'preferences',
  'extensions',
]

function readConfig(value: unknown, wanted: string | undefined, report: Report): SafeKubeconfig | undefined {
  if (!isObject(value) || value['kind'] !== 'Config' || value['apiVersion'] !== 'v1') {
    report('KN2100', '', 'it must have kind Config and apiVersion v1')
    return undefined
  }
  onlyFields(value, ROOT_FIELDS, '', report)
  // Check all entries, even unused ones: a single edit could put them into use.
  const clusters = entries(value, 'clusters', 'cluster', readCluster, report)
  const users = entries(value, 'users', 'user', readUser, report)
  const contexts = entries(value, 'contexts', 'context', readContext, report)
  const name = wanted ?? value['current-context']
  const context = typeof name === 'string' ? contexts.get(name) : undefined
  if (typeof name !== 'string' || context === undefined) {
    const near = typeof wanted === 'string' ? didYouMean(wanted, contexts.keys()) : undefined
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    report(
      'KN2100',
      wanted === undefined ? '/current-context' : '/contexts',
      `the context ${quoted(name)} is not among ${quoted([...contexts.keys()].join(', '))}${hint}`,
    )
    return undefined
  }
  const cluster = clusters.get(context.cluster)
  const user = users.get(context.user)
  if (cluster === undefined)
    report('KN2100', '/clusters', `the cluster ${quoted(context.cluster)} of context ${quoted(name)} is missing`)
  if (user === undefined)
    report('KN2100', '/users', `the user ${quoted(context.user)} of context ${quoted(name)} is missing`)
  if (cluster === undefined || user === undefined) return undefined
  const { namespace = '' } = context
  return { context: name, config: { ...cluster, ...user, ...(namespace !== '' && { namespace }) } }
}

const quoted = (value: unknown): string => JSON.stringify(typeof value === 'string' ? value.slice(0, 100) : null)

function entries<T>(
  root: Fields,
  list: string,
  field: string,
  read: (value: Fields, pointer: string, report: Report) => T | undefined,
  report: Report,
): ReadonlyMap<string, T> {
  const out = new Map<string, T>()
  const items = root[list] ?? []
  if (!Array.isArray(items)) {
    report('KN2100', `/${list}`, 'it must be a list')
    return out
  }
  for (const [i, item] of (items as unknown[]).entries()) {
    const pointer = `/${list}/${i}`
    const inner = isObject(item) ? item[field] : undefined
    const name = isObject(item) ? item['name'] : undefined
    if (!isObject(item) || !isObject(inner) || typeof name !== 'string') {
      report('KN2100', pointer, `it must have a name and a ${field}`)
      continue
    }
    onlyFields(item, ['name', field], pointer, report)
    if (out.has(name)) report('KN2100', `${pointer}/name`, `the name ${quoted(name)} is used twice`)
    const value = read(inner, `${pointer}/${field}`, report)
    if (value !== undefined) out.set(name, value)
  }
  return out
}

/** An unknown field may be a new way to make a client do something; refuse it until it has been reviewed. */
function onlyFields(value: Fields, known: readonly string[], pointer: string, report: Report): void {
  for (const key of Object.keys(value))
    if (!known.includes(key))
      report(
        'KN2100',
        `${pointer}/${pointerPart(key)}`,
        `the field ${quoted(key)} is unknown; known fields: ${known.join(', ')}`,
      )
}

const pointerPart = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

const FILES = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile', 'token-file']

function refuseFiles(value: Fields, pointer: string, report: Report): void {
  for (const field of FILES)
    if (value[field] !== undefined)
      report(
        'KN2101',
        `${pointer}/${field}`,
        `${field} names a file on our disk; put the content into ${field.toLowerCase().includes('token') ? 'token' : `${field}-data`}`,
      )
}

const CLUSTER_FIELDS = ['server', 'certificate-authority-data', 'tls-server-name', 'disable-compression', 'extensions']

function readCluster(value: Fields, pointer: string, report: Report): ConnectionConfig | undefined {
  refuseFiles(value, pointer, report)
  const refused = [...FILES]
  if (value['insecure-skip-tls-verify'] !== undefined) {
    refused.push('insecure-skip-tls-verify')
    if (value['insecure-skip-tls-verify'] !== false)
      report(
        'KN2107',
        `${pointer}/insecure-skip-tls-verify`,
        'the server’s certificate must be verified; set certificate-authority-data instead',
      )
  }
  if (value['proxy-url'] !== undefined) {
    refused.push('proxy-url')
    report('KN2107', `${pointer}/proxy-url`, 'a proxy could read or redirect requests; connect directly')
  }
  onlyFields(value, [...CLUSTER_FIELDS, ...refused], pointer, report)
  const server = safeServer(value['server'], `${pointer}/server`, report)
  const ca = pemField(value, 'certificate-authority-data', 'CERTIFICATE', pointer, report)
  const tlsServerName = value['tls-server-name']
  if (
    tlsServerName !== undefined &&
    (typeof tlsServerName !== 'string' || !/^[A-Za-z0-9.-]{1,253}$/.test(tlsServerName))
  ) {
    report('KN2107', `${pointer}/tls-server-name`, 'not a host name')
    return undefined
  }
  if (server === undefined) return undefined
  return {
    server,
    ...(ca === undefined ? {} : { ca: { data: ca } }),
    ...(typeof tlsServerName === 'string' ? { tlsServerName } : {}),
  }
}

/** Addresses that no API server has, and endpoints where clouds serve this machine's credentials. */
const NEVER =
  /^(169\.254\.|0\.0\.0\.0$|\[::\]$|\[fe80:|\[fd00:ec2::254\]|\[::ffff:(a9fe|0:0\])|metadata(\.google\.internal)?\.?$)/i

function safeServer(value: unknown, pointer: string, report: Report): string | undefined {
  const url = typeof value === 'string' && value.length <= MAX_SERVER ? URL.parse(value) : null
  if (url === null || url.protocol !== 'https:') {
    report('KN2107', pointer, 'the server must be an https address')
    return undefined
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    report('KN2107', pointer, 'the server must have no user, query or fragment')
    return undefined
  }
  if (NEVER.test(url.hostname)) {
    report('KN2107', pointer, 'the server is a link-local or metadata address, which no API server has')
    return undefined
  }
  return url.href.replace(/\/$/, '')
}

const USER_FIELDS = ['token', 'client-certificate-data', 'client-key-data', 'as', 'as-groups', 'extensions']

function readUser(value: Fields, pointer: string, report: Report): Omit<ConnectionConfig, 'server'> | undefined {
  refuseFiles(value, pointer, report)
  if (value['exec'] !== undefined)
    report(
      'KN2101',
      `${pointer}/exec`,
      'it would run a program on the machine of KubeNode; use a token or a client certificate',
    )
  if (value['auth-provider'] !== undefined)
    report(
      'KN2101',
      `${pointer}/auth-provider`,
      'it would run a plugin on the machine of KubeNode; use a token or a client certificate',
    )
  for (const field of ['username', 'password'])
    if (value[field] !== undefined)
      report(
        'KN2101',
        `${pointer}/${field}`,
        'API servers no longer support passwords; use a token or a client certificate',
      )
  onlyFields(value, [...USER_FIELDS, ...FILES, 'exec', 'auth-provider', 'username', 'password'], pointer, report)
  const cert = pemField(value, 'client-certificate-data', 'CERTIFICATE', pointer, report)
  const key = pemField(value, 'client-key-data', 'PRIVATE KEY', pointer, report)
  if ((cert === undefined) !== (key === undefined))
    report('KN2101', pointer, 'client-certificate-data and client-key-data must be set together')
  const token = safeToken(value['token'], `${pointer}/token`, report)
  return {
    ...(cert === undefined || key === undefined
      ? {}
      : { clientCertificate: { cert: { data: cert }, key: { data: key } } }),
    ...(token === undefined ? {} : { token: { data: token } }),
    ...impersonation(value, pointer, report),
  }
}

/** A token becomes a header: a line break in it would start another one. */
function safeToken(value: unknown, pointer: string, report: Report): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(value)) return value
  report('KN2101', pointer, 'not a bearer token: use one line of printable characters without blanks')
  return undefined
}

function impersonation(value: Fields, pointer: string, report: Report): Pick<ConnectionConfig, 'impersonate'> {
  const { as: user, 'as-groups': groups } = value
  if (user === undefined) return {}
  const isText = (t: unknown): t is string => typeof t === 'string' && /^[\x20-\x7e]{1,256}$/.test(t)
  if (isText(user) && groups === undefined) return { impersonate: { user } }
  if (isText(user) && Array.isArray(groups) && (groups as unknown[]).every(isText))
    return { impersonate: { user, groups: groups as string[] } }
  report('KN2101', `${pointer}/as`, 'the user and groups to impersonate must be plain text')
  return {}
}

function pemField(value: Fields, field: string, label: string, pointer: string, report: Report): string | undefined {
  const text = value[field]
  if (text === undefined) return undefined
  const pem =
    typeof text === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(text.replaceAll(/\s/g, ''))
      ? Buffer.from(text, 'base64').toString()
      : ''
  if (pem.includes(`-----BEGIN `) && pem.includes(`${label}-----`)) return pem
  report('KN2101', `${pointer}/${field}`, `not base64 of a PEM with a ${label}`)
  return undefined
}

interface Context {
  readonly cluster: string
  readonly user: string
  readonly namespace?: string
}

function readContext(value: Fields, pointer: string, report: Report): Context | undefined {
  onlyFields(value, ['cluster', 'user', 'namespace', 'extensions'], pointer, report)
  const { cluster, user, namespace } = value
  if (
    typeof cluster === 'string' &&
    typeof user === 'string' &&
    (namespace === undefined || typeof namespace === 'string')
  )
    return { cluster, user, ...defined({ namespace }) }
  report('KN2100', pointer, 'it must name a cluster and a user')
  return undefined
}
