// The numbered errors of artifacts, components and trust on the command line.
import { errorTable } from '#lib/error-table.ts'

export const artifactErrors = errorTable({
  KN1101: {
    text: 'cannot pack {path}: only regular files and folders are unpacked on a node',
    next: 'remove it',
  },
  KN1101_empty: {
    text: 'cannot pack {folder}: it contains no files',
    next: 'name a folder with files',
  },
  KN1101_tooMany: {
    text: 'cannot pack {folder}: {length} entries, at most {maxFiles}',
    next: 'split it, or leave files out',
  },
  KN1011_input: {
    text: 'cannot read the {what} {path}: {why}',
    next: 'check the path',
  },
  KN1014_detail: {
    text: 'cannot read the {what} {path}: {detail}',
    next: 'correct the file',
  },
  KN1024_used: {
    text: 'cannot use {trust}: it is not a trust document',
    next: 'make one with kubenode artifact keys trust',
  },
  KN1024_damaged: {
    text: 'cannot use {trust}: {why}',
    next: 'correct the trust document',
  },
  KN1108: {
    text: '{path} is not trusted: {why}',
    next: 'sign it with a trusted key',
  },
  KN1108_digest: {
    text: '{artifact} has digest {digest}, which {path} does not name',
    next: 'pass the artifact that was signed, or sign this one',
  },
  KN1002_trust: {
    text: 'cannot keep key {unknown}: sequence {sequence} trusts {known}',
    next: 'name one of these keys',
  },
  KN1111: {
    text: 'cannot sign {path} with the new key: {why}',
    next: 'check its content, then sign it by hand with kubenode artifact sign, or remove it',
  },
  KN1112: {
    text: 'cannot change the trust of {root}: there is no agent in this folder',
    next: 'name the folder of its agent with --root',
  },
  KN1101_refused: {
    text: 'cannot pack {folder}: agents would refuse the archive: {why}',
    next: 'correct the folder, then pack it again',
  },
  KN1002_trustDocument: {
    text: 'cannot write the trust document {path}: {why}',
    next: 'correct --sequence, --threshold, --expires or --key; nothing was written',
  },
  KN1130: {
    text: 'cannot read {file}: {why}',
    next: 'download it again, and compare its digest with the one that its publisher names',
  },
  KN1131: {
    text: 'cannot make a component for {wanted} from {file}: it is for {known}',
    next: 'name one of these with --arch, or download the one for your nodes',
  },
  KN1002_missing: {
    text: 'cannot tell the {what} of {file}',
    next: 'give it with {flag}',
  },
  KN1133: {
    text: 'cannot make a component from {file}: {why}',
    next: 'choose with --take, --leave and --unit; --dry-run shows what would be made',
  },
  KN1133_tooMany: {
    text: 'cannot make a component from {file}: {programs} files to install and {files} texts, at most {maxPrograms} and {maxFiles}',
    next: 'name the ones that you need with --take, or leave folders out with --leave',
  },
  KN1135: {
    text: '{statement} names another artifact for {arch}: {signed}, and this one is {found}',
    next: 'use the same download and options to make it again, or give the new content another version with --as',
  },
  KN1002_form: {
    text: 'cannot use {option} {text}',
    next: 'write {form}',
  },
  KN1133_hostFile: {
    text: 'cannot make a component from {file}: {path} belongs to {owner}, and a host does not run without it',
    next: 'leave it out with --leave, or give your unit another name with --file FILE=/etc/systemd/system/NAME.service',
  },
})
