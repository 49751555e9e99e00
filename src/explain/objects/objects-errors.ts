// The numbered errors of commands that find and show objects.
import { errorTable } from '#lib/error-table.ts'

export const inspectErrors = errorTable({
  KN1310: {
    text: 'unknown kind {word}{detail}',
    next: 'kubenode shows its own kinds only, use kubectl for others',
  },
  KN1325_several: {
    text: 'cannot tell which {first} is meant',
    next: 'write {first}/NAME; kubenode get {first} lists them',
  },
  KN1325: {
    text: 'cannot find {what}: a name has no slash',
    next: 'write KIND/NAME',
  },
  KN1348: {
    text: 'cannot get the objects: the server does not understand the request: {answer}',
    next: 'correct --selector or --field-selector',
  },
  KN1325_kinds: {
    text: 'cannot tell which {name} is meant: several objects have this name',
    next: 'type {commands}',
  },
  KN1313_name: {
    text: 'cannot find an object called {name} in {place}{hint}',
    next: 'list what there is with kubenode get machines,sets, and on a hub with kubenode get releases,sources',
  },
  KN1313: {
    text: 'cannot find {what} in {place}{hint}',
    next: 'list what there is with kubenode get {plural}',
  },
  KN1313_object: {
    text: 'cannot find {what} in {place}{hint}',
    next: 'list what there is with kubenode get {plural}; what was recorded of a deleted one is in kubenode history {what}',
  },
  KN1314: {
    text: 'cannot get the objects: the server returned {answer}',
    next: 'check the address and your permissions',
  },
  KN1315: {
    text: 'cannot list {kind}: this server does not have the kind',
    next: 'install it, or use the kubeconfig of another cluster',
  },
})
