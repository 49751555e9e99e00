// Sources of Alibaba Cloud keys.
import { timestamp } from '#lib/clock.ts'
import { type KeySource, parsed, tokenInFile } from '../cloud/credentials.ts'
import { textIn } from '../cloud/json.ts'
import {
  type KeyOptions,
  keysFrom,
  type KeyTools,
  lentKeys,
  SESSION_SECONDS,
  type VendorKeys,
} from '../cloud/key-source.ts'
import type { MetadataSession } from '../cloud/metadata.ts'

export const ALICLOUD_SESSION: MetadataSession = {
  origin: 'http://100.100.100.200',
  secondsHeader: 'x-aliyun-ecs-metadata-token-ttl-seconds',
  sessionHeader: 'x-aliyun-ecs-metadata-token',
}

const ALICLOUD_KEYS: VendorKeys = {
  metadata: ALICLOUD_SESSION,
  rolePage: '/latest/meta-data/ram/security-credentials/',
  role: /^[\w.-]{1,128}$/,
  roleWord: 'RAM role',
  names: { id: 'AccessKeyId', secret: 'AccessKeySecret', session: 'SecurityToken' },
  keyVariables: {
    id: 'ALIBABA_CLOUD_ACCESS_KEY_ID',
    secret: 'ALIBABA_CLOUD_ACCESS_KEY_SECRET',
    session: 'ALIBABA_CLOUD_SECURITY_TOKEN',
  },
  roleVariables: ['ALIBABA_CLOUD_ROLE_ARN', 'ALIBABA_CLOUD_OIDC_PROVIDER_ARN', 'ALIBABA_CLOUD_OIDC_TOKEN_FILE'],
  exchange:
    ([roleArn = '', providerArn = '', tokenFile = ''], { region, stsEndpoint }, { transport, clock }) =>
    async (signal) => {
      const action = 'AssumeRoleWithOIDC'
      const Timestamp = timestamp(clock.now())
      const query = new URLSearchParams({ Action: action, Format: 'JSON', Version: '2015-04-01', Timestamp })
      const body = new URLSearchParams({
        RoleArn: roleArn,
        OIDCProviderArn: providerArn,
        OIDCToken: await tokenInFile(tokenFile),
        RoleSessionName: 'kubenode',
        DurationSeconds: SESSION_SECONDS,
      })
      const { status, text } = await transport(
        {
          method: 'POST',
          url: `${new URL(stsEndpoint ?? `https://sts.${region}.aliyuncs.com`).origin}/?${query.toString()}`,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: body.toString(),
        },
        signal,
      )
      const answer = parsed(text)
      const at = (name: string) => textIn(answer, 'Credentials', name)
      return lentKeys(ALICLOUD_KEYS.names, { from: action, status, code: textIn(answer, 'Code'), at })
    },
}

export const alicloudKeys = (options: KeyOptions, tools: KeyTools): KeySource => keysFrom(ALICLOUD_KEYS, options, tools)
