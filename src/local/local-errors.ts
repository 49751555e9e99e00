// The numbered errors of local.
import { errorTable } from '#lib/error-table.ts'

export const localErrors = errorTable({
  KN1201: {
    text: 'a local fleet runs in {path} already (pid {pid})',
    next: 'stop it first, or choose another folder with --data',
  },
  KN1202: {
    text: 'cannot use {root}: it has format {format}, this program writes {dataFormat}',
    next: 'start anew with --reset, or choose another folder with --data',
  },
  KN1203: {
    text: 'cannot use {root}: it holds {stranger}, and no fleet.json says that it is ours',
    next: 'choose another folder with --data',
  },
  KN1204: {
    text: 'cannot read {state}: {why}',
    next: 'start anew with --reset',
  },
  KN1205: {
    text: 'cannot write below {folder}: {why}',
    next: 'choose a folder that you may write to with --data',
  },
  KN1206: {
    text: 'cannot start the API server of {cluster}: port {port} is in use by another program',
    next: 'stop that program, or start over with --reset',
  },
  KN1207: {
    text: 'cannot provide {component} {version}: {source} packs to {sha256}…, {file} was signed for {sha2562}…',
    next: 'pack and sign it again with kubenode artifact',
  },
  KN1208: {
    text: 'cannot run git: it is not installed',
    next: 'install it, the fleet is changed by commits',
  },
  KN1209: {
    text: 'cannot read the fleet from {source}: it has no git commit',
    next: 'clone the repository with git, or run git init && git add -A && git commit there',
  },
  KN1211: {
    text: 'cannot make the identity {name}: its certificate was not signed within {signWithinMs} s',
    next: 'look at the log of the API server',
  },
  KN1212: {
    text: 'cannot install {name}: the API server did not establish it within {establishWithinMs} s',
    next: 'check the log of the API server',
  },
  KN1213: {
    text: 'cannot reach the API server of {kubeconfig}: {why}',
    next: 'look at its log',
  },
  KN1215: {
    text: 'there is no local fleet in {data}',
    next: 'start one with npm start, or name its folder with --data',
  },
  KN1216: {
    text: 'cannot start the API server of {cluster}: no free port on {host}',
    next: 'stop programs that listen on this machine',
  },
  KN1220: {
    text: 'cannot clone {source} to {target}: {why}',
    next: 'make room or fix the permissions there, or choose another folder with --data',
  },
  KN1221: {
    text: 'cannot use {root}: it was copied or moved from {folder}, where the identities of its nodes belong',
    next: 'start the fleet there, or start a new one here with --reset',
  },
})
