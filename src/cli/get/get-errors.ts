// The numbered errors of `kubenode get`.
import { errorTable } from '#lib/error-table.ts'

export const getErrors = errorTable({
  KN1002_getForms: {
    text: 'cannot get both {kind} and {what}: one form names a kind and then objects, the other names KIND/NAME each time',
    next: 'use one of them',
  },
  KN1002_combined: {
    text: 'cannot combine {one} with {other}',
    next: 'leave one of them out',
  },
  KN1002_sourceForm: {
    text: 'cannot read {form} as the name of a source: a source here has no form before its name',
    next: 'type {command}; a source that is called {form} is source/{form}',
  },
  KN1002_kubectlOption: {
    text: 'cannot use {option}: kubenode get leaves it to kubectl',
    next: 'type {command}',
  },
  KN1002_noKind: {
    text: 'which kind? kubenode get shows {kinds}',
    next: 'name one, such as kubenode get machines',
  },
})
