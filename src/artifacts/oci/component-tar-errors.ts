// The numbered errors of archives of components.
import { errorTable } from '#lib/error-table.ts'

export const componentTarErrors = errorTable({
  KN8020: {
    text: 'cannot unpack the archive: {why}',
    next: 'rebuild the archive with kubenode artifact pack',
  },
})
