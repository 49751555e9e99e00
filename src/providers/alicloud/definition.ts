// Options of Alibaba Cloud hosts in a providers file.
import { obj } from '#api/build.ts'
import { cloudOptions } from '../cloud/options.ts'
import type { DefinitionFor } from '../definition.ts'
import { alicloudParams } from './params.ts'

const optionsSchema = obj(
  'Options of the provider alicloud.',
  cloudOptions(
    'cn-hangzhou',
    'in a minute',
    'a role by a token of the cluster (ALIBABA_CLOUD_ROLE_ARN, ALIBABA_CLOUD_OIDC_PROVIDER_ARN, ALIBABA_CLOUD_OIDC_TOKEN_FILE), or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET',
  ),
)

export const alicloudDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'alicloud',
  doc: 'ECS instances of one region of Alibaba Cloud.',
  optionsSchema,
  paramsSchema: alicloudParams,
  paths: ['keyFile'],
  async create(options, tools) {
    const { createAlicloudProvider } = await import('./provider.ts')
    return createAlicloudProvider(options, tools)
  },
}
