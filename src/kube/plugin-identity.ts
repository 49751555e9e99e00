// The identity from a login program or an OIDC provider, requested through client-node: again when it expires or the server refuses it, one request at a time,
// each with a deadline.
import type { RequestOptions } from 'node:https'
import type { KubeConfig, User } from '@kubernetes/client-node'
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Identity } from './http/connection.ts'
import { kubeErrors } from './kube-errors.ts'
import { type Login, longestLoginMs, type ShowLine, startLoginsOf } from './login-program.ts'

/** client-node caches a plugin's answer until it expires, so asking again is free. */
const ASK_AGAIN_MS = 60_000

export interface PluginOptions {
  /** A copy without cached answers. */
  readonly fresh: () => KubeConfig
  readonly user: User
  /** The cluster's info, read each time, for login programs that want it. */
  readonly clusterInfo: () => Promise<object | undefined>
  readonly show?: ShowLine | undefined
  readonly clock?: Clock
}

export function pluginIdentity({ fresh, user, clusterInfo, show, clock = systemClock }: PluginOptions) {
  const hasOwnAuthority = mendProvider(user)
  const login: Login = { cluster: undefined, endsAt: undefined }
  const forgetful = (): KubeConfig => {
    const made = fresh()
    startLoginsOf(made, login, { user, clock, show })
    return made
  }
  const longestMs = longestLoginMs({ user, show })
  let kc = forgetful()
  let answering: Promise<Identity> | undefined
  const ask = async (): Promise<Identity> => {
    const options: RequestOptions = {}
    const before = refreshTokenOf(user)
    login.cluster = await clusterInfo()
    try {
      await kc.applyToHTTPSOptions(options)
    } finally {
      keepRefreshToken(user, before)
    }
    return { ...identityIn(options, user), goodForMs: goodForMs(login.endsAt, clock) }
  }
  return async (isRefused: boolean): Promise<Identity> => {
    // client-node misreads an OIDC answer's lifetime as its expiry time; only a fresh copy reads the time in the token.
    if (answering === undefined && (isRefused || isOidc(user))) kc = forgetful()
    answering ??= ask().finally(() => (answering = undefined))
    try {
      return await within(answering, longestMs, clock)
    } catch (e) {
      const reason = startTrouble(e, user) ?? firstLine(messageOf(e))
      const why = hasOwnAuthority
        ? `${reason} (idp-certificate-authority is not read; set NODE_EXTRA_CA_CERTS)`
        : reason
      throw new KubeNodeError(kubeErrors.KN2025({ user: user.name, why }), { retry: 'later' })
    }
  }
}

const firstLine = (text: string): string => (text.split('\n')[0] ?? '').slice(0, 300)

/** A missing login program, with the kubeconfig's install hint. */
function startTrouble(e: unknown, { exec }: User): string | undefined {
  const isStart = e instanceof Error && 'syscall' in e && String(e.syscall).startsWith('spawn')
  if (!isStart || !('code' in e) || e.code !== 'ENOENT' || !isObject(exec)) return undefined
  const { command, installHint } = exec
  const hint = typeof installHint === 'string' ? firstLine(installHint.trim().replaceAll(/\s+/g, ' ')) : ''
  return `there is no program ${String(command)}${hint === '' ? '' : ` (${hint})`}`
}

function identityIn(options: RequestOptions, user: User): Identity {
  const headers = options.headers
  const header = isObject(headers) ? headers['Authorization'] : undefined
  const token = typeof header === 'string' ? /^Bearer (.+)$/.exec(header)?.[1] : undefined
  const { cert, key } = options
  // client-node drops a provider's expired login; the requests would then be anonymous.
  if (token === undefined && !(cert && key))
    throw new Error(
      isOidc(user) ? 'its login expired and cannot be renewed' : 'it returned neither token nor certificate',
    )
  return {
    ...defined({ token }),
    ...(cert && key ? { clientCertificate: { cert: String(cert), key: String(key) } } : {}),
  }
}

const goodForMs = (endsAt: number | undefined, clock: Clock): number =>
  Math.min(ASK_AGAIN_MS, Math.max(0, (endsAt ?? Number.POSITIVE_INFINITY) - clock.now()))

const providerOf = (user: User): Record<string, unknown> | undefined => {
  const provider: unknown = user.authProvider
  return isObject(provider) && isObject(provider['config']) ? provider['config'] : undefined
}

const AUTHORITIES = ['idp-certificate-authority', 'idp-certificate-authority-data']

/** client-node passes its OIDC library text where only a URL works, and a plain object if the provider has its own CA. */
function mendProvider(user: User): boolean {
  const config = isOidc(user) ? providerOf(user) : undefined
  if (config === undefined) return false
  const issuer = URL.parse(String(config['idp-issuer-url']))
  if (issuer !== null) config['idp-issuer-url'] = issuer
  const has = AUTHORITIES.some((field) => config[field] !== undefined)
  for (const field of AUTHORITIES) delete config[field]
  return has
}

const isOidc = (user: User): boolean => isObject(user.authProvider) && user.authProvider['name'] === 'oidc'

const refreshTokenOf = (user: User): unknown => providerOf(user)?.['refresh-token']

/** If a provider sends no new refresh token, the old one stays valid; client-node drops it. */
function keepRefreshToken(user: User, before: unknown): void {
  const config = providerOf(user)
  if (config !== undefined && config['refresh-token'] === undefined && before !== undefined)
    config['refresh-token'] = before
}

/** A login program is killed at the same deadline; until it has exited, the next caller waits for the same answer. */
async function within<T>(answering: Promise<T>, longestMs: number, clock: Clock): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = clock.after(longestMs, () => late.reject(new Error(`no answer within ${longestMs / 1_000} s`)))
  try {
    return await Promise.race([answering, late.promise])
  } finally {
    timer.cancel()
  }
}
