// Where keys for Alibaba Cloud come from: variables or a file, a token of the cluster that is exchanged for keys, or the metadata of the host.
import { timestamp, type Clock } from '#lib/clock.ts'
import { type Keys, type KeySource, keysInFile, parsed, tokenInFile } from '../cloud/credentials.ts'
import type { CloudAnswer, Transport } from '../cloud/http.ts'
import { textIn } from '../cloud/json.ts'

export interface AlicloudKeyOptions {
  readonly region: string
  readonly credentials: 'Environment' | 'File' | 'Metadata'
  readonly keyFile?: string
  readonly stsEndpoint?: string
  readonly metadataEndpoint?: string
}

interface Tools {
  readonly transport: Transport
  readonly clock: Pick<Clock, 'now'>
  readonly env: Readonly<Record<string, string | undefined>>
}

export const METADATA = 'http://100.100.100.200'
const SESSION_SECONDS = '3600'
/** Of a metadata session: long enough for the three questions of one renewal. */
const METADATA_SECONDS = '60'

export function alicloudKeys(options: AlicloudKeyOptions, { transport, clock, env }: Tools): KeySource {
  const { credentials, keyFile, region } = options
  if (credentials === 'File') {
    if (keyFile === undefined) throw new Error('credentials: File needs keyFile')
    return keysInFile(keyFile)
  }
  if (credentials === 'Metadata') return metadataKeys(options.metadataEndpoint ?? METADATA, transport)
  const roleArn = env['ALIBABA_CLOUD_ROLE_ARN']
  const providerArn = env['ALIBABA_CLOUD_OIDC_PROVIDER_ARN']
  const tokenFile = env['ALIBABA_CLOUD_OIDC_TOKEN_FILE']
  if (roleArn && providerArn && tokenFile) {
    const endpoint = options.stsEndpoint ?? `https://sts.${region}.aliyuncs.com`
    return async (signal) => {
      const query = {
        Action: 'AssumeRoleWithOIDC',
        Format: 'JSON',
        Version: '2015-04-01',
        Timestamp: timestamp(clock.now()),
      }
      const body = {
        RoleArn: roleArn,
        OIDCProviderArn: providerArn,
        OIDCToken: await tokenInFile(tokenFile),
        RoleSessionName: 'kubenode',
        DurationSeconds: SESSION_SECONDS,
      }
      const answer = await transport(
        {
          method: 'POST',
          url: `${new URL(endpoint).origin}/?${new URLSearchParams(query).toString()}`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams(body).toString(),
        },
        signal,
      )
      return sessionKeys(answer, 'AssumeRoleWithOIDC', 'Credentials')
    }
  }
  const [id, secret] = [env['ALIBABA_CLOUD_ACCESS_KEY_ID'], env['ALIBABA_CLOUD_ACCESS_KEY_SECRET']]
  const session = env['ALIBABA_CLOUD_SECURITY_TOKEN']
  if (!id || !secret)
    throw new Error(
      'the environment has neither ALIBABA_CLOUD_ROLE_ARN, ALIBABA_CLOUD_OIDC_PROVIDER_ARN and ALIBABA_CLOUD_OIDC_TOKEN_FILE nor ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET',
    )
  return async () => ({ id, secret, ...(session && { session }) })
}

function metadataKeys(endpoint: string, transport: Transport): KeySource {
  const base = `${new URL(endpoint).origin}/latest`
  return async (signal) => {
    const session = await transport(
      {
        method: 'PUT',
        url: `${base}/api/token`,
        headers: { 'x-aliyun-ecs-metadata-token-ttl-seconds': METADATA_SECONDS },
      },
      signal,
    )
    if (session.status !== 200) throw new Error(`the metadata service gives no session (status ${session.status})`)
    const headers = { 'x-aliyun-ecs-metadata-token': session.text.trim() }
    const roles = `${base}/meta-data/ram/security-credentials/`
    const role = await transport({ method: 'GET', url: roles, headers }, signal)
    const name = role.text.trim()
    if (role.status !== 200 || !/^[\w.-]{1,128}$/.test(name)) throw new Error('the host has no RAM role')
    return sessionKeys(await transport({ method: 'GET', url: roles + name, headers }, signal), 'the metadata service')
  }
}

/** The vendor's text stays out of the error: it may repeat what was sent. */
function sessionKeys({ status, text }: CloudAnswer, from: string, ...path: readonly string[]): Keys {
  const body = parsed(text)
  const at = (name: string) => textIn(body, ...path, name)
  const [id, secret, session] = [at('AccessKeyId'), at('AccessKeySecret'), at('SecurityToken')]
  const expiresAt = Date.parse(at('Expiration') ?? '')
  if (status === 200 && id && secret && session && !Number.isNaN(expiresAt)) return { id, secret, session, expiresAt }
  const code = textIn(body, 'Code') ?? ''
  throw new Error(`${from} gives no keys: ${/^[\w.]{1,64}$/.test(code) ? code : `status ${status}`}`)
}
