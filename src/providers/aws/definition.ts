// Options of AWS hosts in a providers file.
import { obj } from '#api/build.ts'
import { cloudOptions } from '../cloud/options.ts'
import type { DefinitionFor } from '../definition.ts'
import { awsParams } from './params.ts'

const optionsSchema = obj(
  'Options of the provider aws.',
  cloudOptions(
    'eu-central-1',
    'in a second',
    'a role by a token of the cluster (AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ),
)

export const awsDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'aws',
  doc: 'EC2 instances of one region of AWS.',
  optionsSchema,
  paramsSchema: awsParams,
  paths: ['keyFile'],
  async create(options, tools) {
    const { createAwsProvider } = await import('./provider.ts')
    return createAwsProvider(options, tools)
  },
}
