// Marks a cluster as being uninstalled: a hold on everything, and an annotation that makes the Defender leave its webhook alone.
import { ANNOTATIONS, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { InstallContext } from '../context.ts'

export const UNINSTALL_HOLD = 'kubenode-uninstall'

const namespaceType = coreKind('Namespace')

async function annotate({ client }: InstallContext, value: 'true' | null): Promise<void> {
  const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE })
  const now = namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling]
  if (namespace === undefined || (now ?? null) === value) return
  const patch = { type: 'merge', value: { metadata: { annotations: { [ANNOTATIONS.uninstalling]: value } } } } as const
  await client.patch(namespaceType, objectKey(namespace), patch, { fieldManager: FIELD_MANAGERS.install })
}

export const withMark = (context: InstallContext): Promise<void> => annotate(context, 'true')
export const withoutMark = (context: InstallContext): Promise<void> => annotate(context, null)
