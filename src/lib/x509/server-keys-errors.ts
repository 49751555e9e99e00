// The numbered errors of the keys that a server keeps.
import { errorTable } from '#lib/error-table.ts'

export const serverKeysErrors = errorTable({
  KN6104: {
    text: 'cannot use the keys in {folder}: {missing} missing',
    next: 'restore them from a copy, or move the folder away to have all keys recreated (then every client needs a new kubeconfig)',
  },
  KN6104_file: {
    text: 'cannot use {file}: {why}',
    next: 'restore it from a copy, or move the folder {folder} away to have all keys recreated (then every client needs a new kubeconfig)',
  },
})
