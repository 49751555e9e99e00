// Every provider that KubeNode's programs can serve. A new one is a folder and one line here.
import { alicloudDefinition } from './alicloud/definition.ts'
import { awsDefinition } from './aws/definition.ts'
import type { ProviderDefinition } from './definition.ts'
import { hollowDefinition } from './hollow/definition.ts'
import { nspawnDefinition } from './nspawn/definition.ts'
import { processDefinition } from './process/definition.ts'
import { remoteDefinition } from './remote/definition.ts'
import { staticDefinition } from './static/definition.ts'

export const PROVIDERS: readonly ProviderDefinition[] = [
  staticDefinition,
  processDefinition,
  nspawnDefinition,
  hollowDefinition,
  remoteDefinition,
  alicloudDefinition,
  awsDefinition,
]
