// The numbered errors of the API server.
import { errorTable } from '#lib/error-table.ts'

export const apiserverErrors = errorTable({
  KN2400_embedded: {
    text: 'the API server refused the request: {why}',
    next: 'correct the request',
  },
  KN1206_server: {
    text: 'cannot listen on {host}:{port}: {why}',
    next: 'choose another port',
  },
  KN6116_write: {
    text: 'cannot write {file}: {why}',
    next: 'make room there and start the server again',
  },
  KN6116_unknown: {
    text: 'cannot write to {file} any more: {why}',
    next: 'the server ends, because what is on the disk is unknown; check the disk, then start the server again',
  },
  KN6102: {
    text: 'cannot read the data in {file}: {seen}',
    next: 'it is damaged or was not written by KubeNode: run kubenode apiserver check, then choose another folder with --data, or restore a backup into an empty one',
  },
  KN6103: {
    text: 'cannot use the data folder {folder}: another server is running on it',
    next: 'stop that server, or choose another folder with --data',
  },
  KN6106: {
    text: 'cannot write to {file}: the disk is full',
    next: 'nothing of this write was stored; delete objects or free space on the disk, and writes resume by themselves',
  },
  KN6107: {
    text: 'cannot use {file}: another program has locked it',
    next: 'stop that program, then try again',
  },
  KN6108: {
    text: 'cannot serve {file}: it ends at revision {revision}, but {marked} was acknowledged: the newest writes are missing',
    next: 'was {file}-wal deleted or cut, or {file} copied alone? put that file back, or restore a backup into an empty folder (kubenode apiserver backup makes one of what is left here)',
  },
  KN1203_database: {
    text: 'cannot read the data in {file}: it is a database of another program, and was left as it is',
    next: 'choose another folder with --data',
  },
  KN6110: {
    text: 'cannot read the data in {file}: its format is {format}, this server knows {known}',
    next: 'start a newer kubenode, or choose another folder with --data',
  },
  KN6111: {
    text: 'cannot read {file}: there is no such file',
    next: 'name the data folder of a server with --data',
  },
  KN6112: {
    text: 'cannot write the backup {target}: there is such a file already',
    next: 'choose another name',
  },
  KN6113: {
    text: 'cannot back up {folder}: what it holds is damaged: {problems}',
    next: 'look with kubenode apiserver check',
  },
  KN6112_folder: {
    text: 'cannot restore into {target}: it is not empty',
    next: 'choose another folder with --data, or move this one away',
  },
  KN6115: {
    text: 'cannot restore {from}: {seen}',
    next: 'name a file that kubenode apiserver backup made',
  },
  KN6116: {
    text: 'cannot lock the data folder with {file}: {why}',
    next: 'check that you may write to the folder and that the file belongs to you',
  },
  KN6116_io: {
    text: 'cannot read or write {file}: {why}',
    next: 'check the disk and the permissions of the folder, then start the server again',
  },
  KN1203_serverFolder: {
    text: 'cannot use {folder} as a data folder: it contains {stranger} and no data of kubenode',
    next: 'use an empty folder',
  },
})
