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
    next: 'run the role history with --history {folder}, name its folder with --history, or import an export with kubenode history import',
  },
  KN17004: {
    text: 'cannot read the history in {file}: {why}',
    next: 'stop the recorder, move the file away, and start it: a new history begins, and the old file can still be exported as far as it is readable',
  },
  KN17005: {
    text: 'nothing was recorded about {what}',
    next: 'correct the name; recorded are: {known}',
  },
  KN17006: {
    text: '{text} is no time of the history',
    next: 'give a time such as 2026-11-24T02:03:00Z, a day such as 2026-11-24, or how long ago, such as 3d or 90m',
  },
  KN17007: {
    text: 'cannot import {file}: line {line}: {why}',
    next: 'export it again with kubenode history export; what was imported before that line is kept',
  },
  KN17008: {
    text: 'cannot import into {folder}: it already has a history of cluster {cluster}',
    next: 'import into an empty folder, with --history <folder>',
  },
  KN17010: {
    text: 'cannot run kubenode history {form}: {what} is missing',
    next: 'type kubenode history {form} {usage}',
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
