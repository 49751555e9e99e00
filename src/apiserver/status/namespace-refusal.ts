// Refusals that concern the namespace an object would live in.
import { forbidden, notFound, Refusal, type GroupResource } from './refusal.ts'

export const namespaceMissing = (namespace: string): Refusal => notFound({ group: '', plural: 'namespaces' }, namespace)

export function namespaceTerminating(r: GroupResource, name: string, namespace: string): Refusal {
  const plain = forbidden(
    r,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  )
  return new Refusal({
    ...plain.status,
    details: {
      ...plain.status.details,
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    },
  })
}
