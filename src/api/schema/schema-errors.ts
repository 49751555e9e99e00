// The numbered errors of patches that cannot be applied.
import { errorTable } from '#lib/error-table.ts'

export const schemaErrors = errorTable({
  KN5301: { text: 'cannot apply the patch: {reason}', next: 'correct the form of the patch' },
  KN5302: { text: 'cannot apply the patch: {reason}', next: 'split it into smaller patches' },
  KN5303: { text: 'cannot apply the patch: {reason}', next: 'read the object again and patch what it has now' },
})
