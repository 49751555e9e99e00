// Numbered CLI errors that belong to no other room: startup, the command line, and single-file commands.
import { errorTable } from '#lib/error-table.ts'

export const cliErrors = errorTable({
  KN1001: {
    text: 'cannot start kubenode: it needs Node 26 or newer, found {node}',
    next: 'run npm ci in {root}, which installs one',
  },
  KN1002: {
    text: 'cannot read the command line: {why}',
    next: 'run kubenode --help, or kubenode COMMAND --help',
  },
  KN1004: {
    text: 'cannot use {variable}={text}: {why}',
    next: 'correct the environment variable, or unset it',
  },
  KN1005: {
    text: 'cannot write to standard output: {why}',
    next: 'make room there and run the command again',
  },
  KN1006: {
    text: 'cannot start kubenode: Node 26 does not start without the library libatomic.so.1',
    next: 'install it: apt-get install libatomic1 (Debian, Ubuntu), or dnf install libatomic (RHEL, Fedora)',
  },
  KN1002_number: {
    text: 'cannot use {option} {text}',
    next: 'write a number from 1 to 9999',
  },
  KN1002_nodes: {
    text: 'cannot create {text} nodes per cluster',
    next: 'give a number from 1 to {maxLocalNodes}',
  },
  KN1002_fault: {
    text: 'unknown fault {text}',
    next: 'use one of {faults}',
  },
  KN1002_oneCluster: {
    text: 'cannot give {contexts} contexts the one name {cluster}',
    next: 'leave --cluster out, or name one context',
  },
  KN1734: {
    text: 'cannot make the recipe of {name}: {why}',
    next: 'correct the manifests, or name images with a digest by --image OLD=NEW@sha256:…',
  },
  KN1734_file: {
    text: 'cannot make the recipe of {name} from {file}: {why}',
    next: 'name the file of its manifests with -f, or write -f - to read a pipe',
  },
  KN1734_name: {
    text: 'cannot make the recipe of {name}: {why}',
    next: 'write another name, such as kube-proxy; Clusters name the addon by it',
  },
  KN1734_version: {
    text: 'cannot make the recipe of {name}: {why}',
    next: 'write a version such as 1.36.2 or 0.27.4-1',
  },
  KN1734_minors: {
    text: 'cannot make the recipe of {name}: {why}',
    next: 'write --kubernetes with one minor such as 1.36, or with the first and the last such as 1.34-1.36',
  },
  KN1734_image: {
    text: 'cannot use --image {text}',
    next: 'write OLD=NEW: the image as the manifests name it, and the one to use, with a digest',
  },
  KN1733: {
    text: 'cannot explain {word}: it is neither the number of an error nor a reason',
    next: 'write one such as KN1120 or RateExceeded; what is wrong with an object: kubenode why KIND/NAME; fields of a kind: kubectl explain machines --api-version kubenode.io/v1alpha1',
  },
  KN1733_number: {
    text: 'cannot explain KN{number}: this version has no such error',
    next: 'docs/reference/errors.md lists all of them; kubenode version prints which version this is',
  },
})
