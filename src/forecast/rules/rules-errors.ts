// The numbered errors of kubenode rules.
import { errorTable } from '#lib/error-table.ts'

export const rulesErrors = errorTable({
  KN1340: {
    text: 'cannot find rules in {folder}: there is no such folder',
    next: 'name it with --dir',
  },
  KN1341: {
    text: 'cannot find rules in {folder}: no file ends in {ending}',
    next: 'write one beside each rule',
  },
  KN1342: {
    text: 'cannot load {file}: {why}',
    next: 'correct the file',
  },
  KN1343: {
    text: 'cannot use {file}: it does not export rule (the spec of a NodeRemedier) and cases (a list)',
    next: 'export both',
  },
  KN1344: {
    text: 'cannot read {file}: line {line}: {why}',
    next: 'correct the file',
  },
  KN1345: {
    text: 'cannot simulate {file}: it contains no Node',
    next: 'write one with kubectl get node NAME -o yaml',
  },
  KN1346: {
    text: 'cannot read {file}: {why}',
    next: 'name a file with a Node in it',
  },
  KN1347: {
    text: 'cannot simulate {file}: {kind} {detail}: {what}',
    next: 'write one with kubectl get {resource} NAME -o yaml',
  },
  KN1386: {
    text: 'no single line of the fleet lets remedier/{name} repair{where}',
    next: 'set its mode to Enforce where the fleet declares it, and read the effect with kubenode plan --dirty',
  },
})
