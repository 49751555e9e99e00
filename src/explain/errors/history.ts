// Errors of recorded history.
import type { Advice } from './advice.ts'

export const history = {
  KN17001: {
    cause: 'The file of a history was written by a newer version.',
    check: 'kubenode version here and where the role history runs',
    do: 'use the newer version to read or to record, or move the file away',
  },
  KN17002: {
    cause: 'Two programs would write one history.',
    check: 'which process has the lock file of the folder open',
    do: 'end the other one, or give each a folder of its own',
  },
  KN17003: {
    cause: 'Nothing was recorded there.',
    check: 'whether the role history runs, and with which --history',
    do: 'name the folder of the recorder with --history, or import an export into it',
  },
  KN17004: {
    cause: 'The file of a history cannot be read: it is damaged, or it belongs to another user.',
    check: 'the reason in the message, and the owner of the file',
    do: 'restart the recorder, which sets a damaged file aside and begins a new one; nothing that steers the fleet is lost',
  },
  KN17005: {
    cause: 'Nothing of this name was recorded.',
    check: 'the name, and since when the history reaches: kubenode history recorded',
    do: 'ask for a name that it has',
  },
  KN17006: {
    cause: 'A time of the command line cannot be read.',
    check: 'the option in the message',
    do: 'write it as in 2026-11-24T02:03:00Z, 2026-11-24, 3d or 90m',
  },
  KN17007: {
    cause: 'A line of an exported history is not as this version writes it.',
    check: 'the line in the message, and the version in the first line of the file',
    do: 'export again with the version that imports',
  },
  KN17008: {
    cause: 'An import would mix two histories of one cluster.',
    check: 'what the folder contains',
    do: 'import into another folder',
  },
  KN17010: {
    cause: 'A form of kubenode history lacks a word, or has an output that it does not know.',
    check: 'kubenode history --help',
    do: 'type the words that the message names',
  },
  KN17009: {
    cause: 'The log of who did what was changed, or lines are missing from it.',
    check: 'the line in the message against exports that were kept elsewhere, such as in a SIEM',
    do: 'treat it as an incident: find out who could write the file',
  },
} as const satisfies Advice
