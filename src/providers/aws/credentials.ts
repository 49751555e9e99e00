// Where keys for AWS come from: variables or a file, a token of the cluster that is exchanged for keys, or the metadata of the host.
import type { Clock } from '#lib/clock.ts'
import { type Keys, type KeySource, keysInFile, parsed, tokenInFile } from '../cloud/credentials.ts'
import type { Transport } from '../cloud/http.ts'
import { textIn } from '../cloud/json.ts'
import { formOf } from './wire.ts'
import { parseXml, xmlAt, xmlText } from './xml.ts'

export interface AwsKeyOptions {
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

export const METADATA = 'http://169.254.169.254'
const STS_VERSION = '2011-06-15'
const SESSION_SECONDS = '3600'
/** Of a metadata session: long enough for the three questions of one renewal. */
const METADATA_SECONDS = '60'

/** China has a domain of its own. */
export const awsDomain = (region: string): string => (region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com')

export function awsKeys(options: AwsKeyOptions, { transport, env }: Tools): KeySource {
  const { credentials, keyFile, region } = options
  if (credentials === 'File') {
    if (keyFile === undefined) throw new Error('credentials: File needs keyFile')
    return keysInFile(keyFile)
  }
  if (credentials === 'Metadata') return metadataKeys(options.metadataEndpoint ?? METADATA, transport)
  const [roleArn, tokenFile] = [env['AWS_ROLE_ARN'], env['AWS_WEB_IDENTITY_TOKEN_FILE']]
  if (roleArn && tokenFile) {
    const endpoint = options.stsEndpoint ?? `https://sts.${region}.${awsDomain(region)}`
    return webIdentityKeys(endpoint, roleArn, tokenFile, transport)
  }
  const [id, secret, session] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN']]
  if (!id || !secret)
    throw new Error(
      'the environment has neither AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE nor AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    )
  return async () => ({ id, secret, ...(session && { session }) })
}

const webIdentityKeys =
  (endpoint: string, roleArn: string, tokenFile: string, transport: Transport): KeySource =>
  async (signal) => {
    const action = 'AssumeRoleWithWebIdentity'
    const params = {
      RoleArn: roleArn,
      RoleSessionName: 'kubenode',
      WebIdentityToken: await tokenInFile(tokenFile),
      DurationSeconds: SESSION_SECONDS,
    }
    const { status, text } = await transport(formOf({ action, params }, endpoint, STS_VERSION), signal)
    const body = parseXml(text)
    const found = xmlAt(body, `${action}Response`, `${action}Result`, 'Credentials')
    const at = (name: string) => xmlText(found, name)
    const code = xmlText(body, 'ErrorResponse', 'Error', 'Code')
    return keysOf(status, action, code, [
      at('AccessKeyId'),
      at('SecretAccessKey'),
      at('SessionToken'),
      at('Expiration'),
    ])
  }

function metadataKeys(endpoint: string, transport: Transport): KeySource {
  const base = `${new URL(endpoint).origin}/latest`
  return async (signal) => {
    const session = await transport(
      {
        method: 'PUT',
        url: `${base}/api/token`,
        headers: { 'x-aws-ec2-metadata-token-ttl-seconds': METADATA_SECONDS },
      },
      signal,
    )
    if (session.status !== 200) throw new Error(`the metadata service gives no session (status ${session.status})`)
    const headers = { 'x-aws-ec2-metadata-token': session.text.trim() }
    const roles = `${base}/meta-data/iam/security-credentials/`
    const role = await transport({ method: 'GET', url: roles, headers }, signal)
    const name = role.text.trim()
    if (role.status !== 200 || !/^[\w+=,.@-]{1,128}$/.test(name)) throw new Error('the host has no instance profile')
    const { status, text } = await transport({ method: 'GET', url: roles + name, headers }, signal)
    const body = parsed(text)
    const at = (of: string) => textIn(body, of)
    return keysOf(status, 'the metadata service', at('Code'), [
      at('AccessKeyId'),
      at('SecretAccessKey'),
      at('Token'),
      at('Expiration'),
    ])
  }
}

/** The vendor's text stays out of the error: it may repeat what was sent. */
function keysOf(status: number, from: string, code = '', found: readonly (string | undefined)[]): Keys {
  const [id, secret, session, expiration = ''] = found
  const expiresAt = Date.parse(expiration)
  if (status === 200 && id && secret && session && !Number.isNaN(expiresAt)) return { id, secret, session, expiresAt }
  throw new Error(`${from} gives no keys: ${/^[\w.]{1,64}$/.test(code) ? code : `status ${status}`}`)
}
