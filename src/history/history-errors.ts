// The numbered errors of the history.
import { errorTable } from '#lib/error-table.ts'

export const historyErrors = errorTable({
  KN17001: {
    text: 'cannot open the history in {file}: it was written by a newer KubeNode (layout {seen}, this one knows {known})',
    next: 'use that version, or move the file away to begin a new history',
  },
  KN17002: {
    text: 'cannot record into {folder}: another recorder holds it',
    next: 'give each recorder a folder of its own with --history; tried again automatically',
  },
  KN17003: {
    text: 'there is no history in {folder}',
    next: 'name the folder of a recorder or an exported file with --history, or change to the folder of a local fleet',
  },
  KN17004: {
    text: 'cannot read the history in {file}: {why}',
    next: 'stop the recorder, move the file away, and start it: a new history begins, and the old file can still be exported as far as it is readable',
  },
  KN17004_most: {
    text: 'cannot read how {cluster} was: it has more than {most} {of} of kind {kind}',
    next: 'ask about one object; check who writes them there',
  },
  KN17005: {
    text: 'nothing was recorded about {what}',
    next: 'correct the name; recorded are: {known}',
  },
  KN17005_at: {
    text: 'nothing was recorded about {what} at {at}',
    next: 'correct the name, or give a time when it existed; recorded are: {known}',
  },
  KN17005_cluster: {
    text: 'nothing was recorded in cluster {cluster}',
    next: 'correct the name; recorded are: {known}',
  },
  KN17006: {
    text: '{text} is not a time of the history',
    next: 'give a time such as 2026-11-24T02:03:00Z, a day such as 2026-11-24, or how long ago, such as 3d or 90m',
  },
  KN17006_order: {
    text: 'the time from {from} to {to} ends before it begins',
    next: 'correct --since or --until; --until is now when left out',
  },
  KN17006_future: {
    text: 'cannot tell what was known at {at}: that is in the future',
    next: 'give a time in the past; recorded are: {known}',
  },
  KN17006_before: {
    text: 'cannot tell what was known at {at}: nothing had been recorded yet',
    next: 'give a later time; recorded are: {known}',
  },
  KN17007: {
    text: 'cannot read {file} as a history: line {line}: {why}',
    next: 'export it again with kubenode history export; an import keeps what was before that line',
  },
  KN17008: {
    text: 'cannot import into {folder}: it already has a history of cluster {cluster}',
    next: 'import into an empty folder, with --history <folder>',
  },
  KN17008_unwritten: {
    text: 'cannot write the import into {folder}: {why}',
    next: 'free space there, or choose another folder with --history; then delete what this import wrote and import again',
  },
  KN17010: {
    text: 'cannot run kubenode history {form}: {what} is missing',
    next: 'type kubenode history {form} {usage}',
  },
  KN17010_word: {
    text: 'cannot run kubenode history {form}: {word} is one word too many',
    next: 'type kubenode history {usage}',
  },
  KN17010_pipe: {
    text: 'cannot import from a terminal: with -, the export comes through a pipe',
    next: 'type kubenode history import - FOLDER < export.jsonl, or name the file',
  },
  KN17010_redact: {
    text: 'cannot redact this answer: --redact is for export and sample',
    next: 'export with --redact, and ask with --history FILE',
  },
  KN17010_at: {
    text: 'cannot explain the whole fleet at a time',
    next: 'name an object, as in kubenode why node/NAME --at {at}',
  },
  KN17010_lines: {
    text: 'cannot print commits as lines: -o lines is for who did what',
    next: 'type -o json, or kubenode history who -o lines',
  },
  KN17009: {
    text: 'cannot verify who did what in cluster {cluster}: line {n} {what}',
    next: 'compare with lines that were exported before; what follows that line is not trustworthy',
  },
})
