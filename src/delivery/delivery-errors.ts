// The numbered errors of delivering objects to a cluster. They share the numbers of sync, which used to be the only one to deliver.
import { errorTable } from '#lib/error-table.ts'

export const deliveryErrors = errorTable({
  KN1315_apply: {
    text: 'cannot apply {kind}: the server does not serve {apiVersion} {kind}',
    next: 'install its CustomResourceDefinition first',
  },
  KN7404: {
    text: 'the object belongs to FleetSource {owner}',
    next: 'remove it from one of the two; after a rename, name the old source in spec.replaces',
  },
  KN7405: {
    text: '{kind} {problem}',
    next: 'correct metadata.namespace',
  },
})
