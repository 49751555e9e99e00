// The embedded API server.
import type { Advice } from './advice.ts'

export const apiServer = {
  KN6102: {
    cause: 'The data of the embedded API server is damaged.',
    check: 'kubenode apiserver check',
    do: 'restore a backup into an empty folder and start from that',
  },
  KN6103: {
    cause: 'Another server or program uses the data folder.',
    check: 'the processes that have its files open: fuser -v',
    do: 'stop that program first',
  },
  KN6104: {
    cause: 'Keys of the embedded API server are missing or damaged.',
    check: 'the keys folder and its copies',
    do: 'restore them; moving the folder away makes new ones, and every client needs a new kubeconfig',
  },
  KN6106: {
    cause: 'The disk of the embedded API server is full; nothing of this write was stored.',
    check: 'df, and the largest kinds of objects',
    do: 'delete objects or free space: writes resume by themselves',
  },
  KN6107: {
    cause: 'Another program has locked a file of the store: a backup, a copy or a shell of a database.',
    check: 'fuser -v of the file',
    do: 'end that program, then try again',
  },
  KN6108: {
    cause: 'The newest writes of the store are missing: its -wal file was deleted, or the file was copied alone.',
    check: 'ls of the data folder',
    do: 'put the -wal file back, or restore a backup into an empty folder',
  },
  KN6110: {
    cause: 'A newer version wrote this data.',
    check: 'kubenode version',
    do: 'start that version, or choose another folder with --data',
  },
  KN6111: {
    cause: 'There is no data of a server in this folder.',
    check: 'the path in the message',
    do: 'name the data folder of a server with --data',
  },
  KN6112: {
    cause: 'The target of a backup or restore exists already.',
    check: 'ls of the target',
    do: 'choose a new name or folder, or move the old one away',
  },
  KN6113: {
    cause: 'A backup would copy damaged data.',
    check: 'kubenode apiserver check, which lists the damage',
    do: 'repair or restore first, then back up',
  },
  KN6115: {
    cause: 'The file is no backup.',
    check: 'how it was made',
    do: 'name a file that kubenode apiserver backup made',
  },
  KN6116: {
    cause:
      'A file of the data folder cannot be locked, read or written. A server that does not know what is on the disk ends itself.',
    check: 'the owner and mode of the folder, its free space, and the disk',
    do: 'fix the permissions or the disk, or make room, then start the server again',
  },
} as const satisfies Advice
