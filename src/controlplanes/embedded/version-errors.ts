// The numbered errors of the file of versions.
import { errorTable } from '#lib/error-table.ts'

export const versionErrors = errorTable({
  KN1462: {
    text: 'cannot use the version file {file}: {problems}',
    next: 'docs/operations/control-planes.md has an example of a row',
  },
})
