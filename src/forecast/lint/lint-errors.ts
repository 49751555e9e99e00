// The numbered errors of lint.
import { errorTable } from '#lib/error-table.ts'

export const lintErrors = errorTable({
  KN1011: {
    text: 'cannot read {file}: {why}',
    next: 'name a file or folder that exists',
  },
  KN1012: {
    text: 'cannot lint {folder}: more than {maxFiles} files',
    next: 'name a smaller folder',
  },
  KN1012_size: {
    text: 'cannot lint {name}: {size} bytes, at most {maxTextBytes} are read',
    next: 'split the file',
  },
  KN1014: {
    text: 'cannot read {name}: it is not UTF-8 text',
    next: 'save it as UTF-8',
  },
  KN1014_syntax: {
    text: '{place}: cannot be read: {why}',
    next: 'correct the syntax',
  },
  KN1011_notRegular: {
    text: 'cannot read {file}: it is not a regular file',
    next: 'copy its contents into one',
  },
  KN1020: {
    text: '{place}: not an object',
    next: 'write a map with apiVersion, kind and metadata',
  },
  KN1020_kind: {
    text: '{place}: unknown kind {kind}',
    next: 'use the suggested kind',
  },
  KN1020_field: {
    text: '{place}: the object has no {field}',
    next: 'add it',
  },
  KN1020_name: {
    text: '{place}: {kind} has no metadata.name',
    next: 'give it one',
  },
  KN1024: {
    text: '{place}: not a trust document',
    next: 'make one with kubenode artifact keys trust',
  },
  KN1020_metadata: {
    text: '{place}: {problem}',
    next: 'use letters, digits and dashes as Kubernetes allows them',
  },
  KN1026: {
    text: '{file} is read by no code of the fleet: {by} replaced it',
    next: '{instead}; write it there, then git rm {file}',
  },
})
