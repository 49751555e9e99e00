// Sources of AWS keys.
import { type KeySource, tokenInFile } from '../cloud/credentials.ts'
import {
  type KeyOptions,
  keysFrom,
  type KeyTools,
  lentKeys,
  SESSION_SECONDS,
  type VendorKeys,
} from '../cloud/key-source.ts'
import type { MetadataSession } from '../cloud/metadata.ts'
import { formOf } from './wire.ts'
import { parseXml, xmlAt, xmlText } from './xml.ts'

export const AWS_SESSION: MetadataSession = {
  origin: 'http://169.254.169.254',
  secondsHeader: 'x-aws-ec2-metadata-token-ttl-seconds',
  sessionHeader: 'x-aws-ec2-metadata-token',
}
const STS_VERSION = '2011-06-15'

/** China has its own domain. */
export const awsDomain = (region: string): string => (region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com')

const AWS_KEYS: VendorKeys = {
  metadata: AWS_SESSION,
  rolePage: '/latest/meta-data/iam/security-credentials/',
  role: /^[\w+=,.@-]{1,128}$/,
  roleWord: 'instance profile',
  names: { id: 'AccessKeyId', secret: 'SecretAccessKey', session: 'Token' },
  keyVariables: { id: 'AWS_ACCESS_KEY_ID', secret: 'AWS_SECRET_ACCESS_KEY', session: 'AWS_SESSION_TOKEN' },
  roleVariables: ['AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  exchange:
    ([roleArn = '', tokenFile = ''], { region, stsEndpoint }, { transport }) =>
    async (signal) => {
      const action = 'AssumeRoleWithWebIdentity'
      const params = {
        RoleArn: roleArn,
        RoleSessionName: 'kubenode',
        WebIdentityToken: await tokenInFile(tokenFile),
        DurationSeconds: SESSION_SECONDS,
      }
      const endpoint = stsEndpoint ?? `https://sts.${region}.${awsDomain(region)}`
      const { status, text } = await transport(formOf({ action, params }, endpoint, STS_VERSION), signal)
      const body = parseXml(text)
      const found = xmlAt(body, `${action}Response`, `${action}Result`, 'Credentials')
      const code = xmlText(body, 'ErrorResponse', 'Error', 'Code')
      const names = { ...AWS_KEYS.names, session: 'SessionToken' }
      return lentKeys(names, { from: action, status, code, at: (name) => xmlText(found, name) })
    },
}

export const awsKeys = (options: KeyOptions, tools: KeyTools): KeySource => keysFrom(AWS_KEYS, options, tools)
