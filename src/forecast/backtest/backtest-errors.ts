// The numbered errors of kubenode rules backtest, review and suggest.
import { errorTable } from '#lib/error-table.ts'

export const backtestErrors = errorTable({
  KN1209_fleet: {
    text: 'cannot read the repository of the fleet: {folder} has no .git',
    next: 'name the repository with --repo; kubenode rules backtest reads a file of rules too, with --rules',
  },
  KN17006_end: {
    text: 'the time from {from} to {to} ends before it begins',
    next: 'correct --since or --until: durations such as 3d count back from the end of the history, {end}',
  },
  KN1342: {
    text: 'cannot read the condition {text}: {why}',
    next: "write figures and numbers, as in --fail-on 'added.reboots > 5 or needless.share > 10%'",
  },
  KN1342_figure: {
    text: 'there is no figure {name}{hint}',
    next: 'use one of {known}',
  },
  KN1343: {
    text: 'cannot judge the change: the rules of the base reproduce {share} of the recorded repairs, and a judgement needs {needed}',
    next: 'compare with the rules that were in force: leave --base out, or name their commit; a shorter --since may begin after they changed',
  },
  KN1343_empty: {
    text: 'cannot judge the change: the history of {cluster} has no node in the time that was asked for',
    next: 'name a history in which nodes were recorded, or a longer time with --since and --until',
  },
  KN1344: {
    text: 'cannot tell which cluster of the fleet the history of {cluster} belongs to: the fleet declares {known}',
    next: 'name it with --fleet-cluster',
  },
  KN1344_many: {
    text: 'cannot replay several clusters at once: the history has {known}',
    next: 'name one with --cluster',
  },
  KN1344_none: {
    text: 'cannot replay the history of {cluster}: it has {known}',
    next: 'correct --cluster',
  },
  KN1346: {
    text: 'cannot read {file} as rules: {why}',
    next: 'name a file with NodeRemedier and DefenderPolicy objects, as YAML or JSON',
  },
  KN1346_commit: {
    text: 'cannot judge the rules of {name}: {why}',
    next: 'correct it; kubenode rules lint lists every problem',
  },
})
