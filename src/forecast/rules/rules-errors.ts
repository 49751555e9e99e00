// The numbered errors of kubenode rules.
import { errorTable } from '#lib/error-table.ts'

export const rulesErrors = errorTable({
  KN1011_rules: {
    text: 'cannot find rules in {folder}: there is no such folder',
    next: 'name it with --dir',
  },
  KN1341: {
    text: 'cannot find rules in {folder}: no file ends in {ending}',
    next: 'write one beside each rule',
  },
  KN1014_rule: {
    text: 'cannot load {file}: {why}',
    next: 'correct the file',
  },
  KN1341_exports: {
    text: 'cannot use {file}: it does not export rule (the spec of a NodeRemedier) and cases (a list)',
    next: 'export both',
  },
  KN1014_line: {
    text: 'cannot read {file}: line {line}: {why}',
    next: 'correct the file',
  },
  KN1345: {
    text: 'cannot simulate {file}: it contains no Node',
    next: 'write one with kubectl get node NAME -o yaml',
  },
  KN1345_unreadable: {
    text: 'cannot read {file}: {why}',
    next: 'name a file with a Node in it',
  },
  KN1345_object: {
    text: 'cannot simulate {file}: {kind} {detail}: {what}',
    next: 'write one with kubectl get {resource} NAME -o yaml',
  },
  KN1384_remedier: {
    text: 'no single line of the fleet lets remedier/{name} repair{where}',
    next: 'it may repair there already: kubenode get remedier/{name} --context CLUSTER; otherwise set its mode to Enforce where the fleet declares it, and read the effect with kubenode plan --dirty',
  },
})
