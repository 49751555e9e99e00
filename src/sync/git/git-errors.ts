// The numbered errors of reading and fetching repositories.
import { errorTable } from '#lib/error-table.ts'

export const gitErrors = errorTable({
  KN1011_repository: {
    text: 'cannot read the repository {folder}: no such folder',
    next: 'check the path',
  },
  KN1664_read: {
    text: 'cannot find {revision} in {repository}: there is no such branch, tag or commit',
    next: 'name one that git log or git branch -a shows; what was rendered before stays in force',
  },
  KN1209_noCommit: {
    text: 'cannot find a commit in {name}: HEAD names {branch}, which has none yet',
    next: 'make a first commit',
  },
  KN7004: {
    text: 'cannot read the repository {commonDir}: {what}',
    next: '{todo}',
  },
  KN7005: {
    text: 'cannot read {path}: it is a {kind}, and a fleet consists of plain files',
    next: 'replace it with the files it refers to',
  },
  KN7114_files: {
    text: 'cannot read {where}: it {seen}',
    next: 'remove files that do not belong to the fleet, or make it smaller',
  },
  KN7007: {
    text: 'cannot read {what} in {repository}: {why}: the object is missing or damaged',
    next: 'in a shallow clone run git fetch --unshallow, otherwise run git fsck',
  },
  KN1449_slowRead: {
    text: 'cannot read {where} within {deadlineMs} ms',
    next: 'try again',
  },
  KN7009: {
    text: 'cannot fetch {url}: {why}',
    next: 'check the address, the branch and the credentials; the commit fetched before stays in force',
  },
  KN7010: {
    text: 'cannot find {revision} in {repository}: commit {commit} has {parents}',
    next: 'name a commit that exists',
  },
  KN7011: {
    text: 'cannot render commit {commit} of {repository}: it has no {entry}',
    next: 'commit one, or correct --path, or the path of the FleetSource',
  },
  KN1002_unknownCluster: {
    text: 'cannot plan for cluster {cluster}: the fleet has {all}',
    next: 'name one of these',
  },
  KN7010_form: {
    text: 'cannot read the revision {revision}',
    next: 'write a branch, a tag or a commit, optionally with ~1',
  },
  KN7015: {
    text: 'cannot read {path}: it has {problem}, which git itself never writes',
    next: 'remove the entry and rewrite the commit',
  },
  KN7015_type: {
    text: 'cannot read {path}: {object} is not a {type}',
    next: 'run git fsck in the repository',
  },
  KN1209_noRepository: {
    text: 'cannot read the repository {folder}: it has no .git',
    next: 'run git init && git add -A && git commit there, or name another folder',
  },
  KN1520_scheme: {
    text: 'cannot fetch {url}: only https, ssh and file addresses are supported',
    next: 'correct the address',
  },
  KN7015_object: {
    text: 'cannot read {what} in {repository}: the git object {object} {why}, which git itself never writes',
    next: 'run git fsck in the repository; remove the object and whatever refers to it',
  },
  KN7020: {
    text: 'cannot read {url} for FleetSource {source}: sync reads no such repository of its own machine',
    next: 'use an https or ssh address, or start sync with --local-repository {source}=FOLDER',
  },
  KN7021: {
    text: 'cannot fetch {url} for FleetSource {source}: ssh needs a key of its own',
    next: 'name a Secret with ssh-privatekey and known_hosts in spec.secretRef',
  },
  KN7021_content: {
    text: 'cannot fetch for FleetSource {source}: the Secret {secret} of spec.secretRef {why}',
    next: 'https takes username and password, or bearerToken, and ca.crt for a private authority; ssh takes ssh-privatekey and known_hosts',
  },
  KN7023: {
    text: 'cannot fetch {url}: the server refused {credentials} (HTTP {status})',
    next: 'put a username and password, or a bearerToken, that may read the repository into the Secret of spec.secretRef; sync reads it again with each fetch',
  },
  KN7024: {
    text: 'cannot fetch {url}: the certificate of the server is not trusted: {why}',
    next: 'correct the certificate, or put the authority that signs it into ca.crt of the Secret of spec.secretRef, which kubenode bootstrap --ca FILE does',
  },
  KN7025: {
    text: 'cannot fetch {url}: the server redirects to another address, and sync follows no redirects',
    next: 'set spec.url to the address that the server redirects to',
  },
  KN7026: {
    text: 'cannot fetch for FleetSource {source}: spec.url contains a user or a password',
    next: 'put them into a Secret, and name it in spec.secretRef',
  },
  KN7027: {
    text: 'cannot fetch for FleetSource {source}: sync may not read the Secret {namespace}/{name} of spec.secretRef',
    next: 'run kubectl -n {namespace} create role kubenode-git --verb=get --resource=secrets --resource-name={name}, and bind it to the service account kubenode-sync of kubenode-system',
  },
  KN7028: {
    text: 'cannot fetch {url}: the host key of the server is not trusted by known_hosts of the Secret of spec.secretRef: {why}',
    next: 'compare it with the keys that the operator of the server publishes, and put its line there; if no operator announced a new one, the connection may be intercepted',
  },
  KN7023_ssh: {
    text: 'cannot fetch {url}: the server refused the ssh key {key}: {why}',
    next: 'register its public key at the server as a deploy key that may read the repository, and check the user in spec.url, such as git@; the next fetch tries it again',
  },
  KN1208_ssh: {
    text: 'cannot fetch over ssh: this machine has no program ssh on the PATH',
    next: 'install openssh-client where sync runs, or use an https address',
  },
  KN7046: {
    text: 'cannot fetch {url}: its copy would have more than {limit} MiB, and the fetch was ended',
    next: 'remove large files from its history, move the fleet to a repository of its own, or raise --max-repository of sync and the disk below --cache; the commit fetched before stays in force',
  },
  KN7047: {
    text: 'cannot fetch {url}: the proxy {proxy} refused the connection: {why}',
    next: 'check spec.proxy, proxyUsername and proxyPassword of the Secret of spec.secretRef, and whether the proxy may reach this server',
  },
  KN7047_scheme: {
    text: 'cannot fetch {url} for FleetSource {source}: spec.proxy is for https addresses',
    next: 'use the https address of the repository, or remove spec.proxy',
  },
  KN7049: {
    text: 'cannot fetch {url}: it has no {ref}{hint}',
    next: 'push it again, or set spec.ref of the FleetSource to what replaces it; the commit fetched before stays in force',
  },
  KN1666_fetched: {
    text: 'cannot fetch {url}: the repository there is a shallow clone, without the history that tells what a commit follows',
    next: 'run git fetch --unshallow in it, or name the repository that it was cloned from; the commit fetched before stays in force',
  },
  KN7054: {
    text: 'cannot fetch {url}: {host} leads to {address}, and no source may have sync call its own machine, its network link, a program of Kubernetes, or where a cloud hands out credentials',
    next: 'use an address by which other machines reach the git server; if it really is there, start sync with --git-allow {host}',
  },
  KN1520_host: {
    text: 'cannot fetch {url}: {host} is not a host that every program reads alike',
    next: 'write the name of the server in ASCII letters, or its address, with nothing but a user before it and a port behind it',
  },
  KN1208_fetch: {
    text: 'cannot reach {url}: this machine has no program git on the PATH, and only https works without it',
    next: 'install git where this program runs, or use an https address',
  },
  KN7057: {
    text: 'cannot fetch {url}: the copies of all repositories would have more than {limit} MiB, three times what one may have; {copies} copies have {used} MiB',
    next: 'delete sources that are not needed, or raise --max-repository of sync and the disk below --cache; the commit fetched before stays in force',
  },
  KN7015_refused: {
    text: 'cannot fetch {url}: git refuses its object {object}: {why}',
    next: 'remove that object from the history of the branch and push it again; the commit fetched before stays in force',
  },
  KN7059: {
    text: 'cannot fetch {url}: git needs more memory for its objects than sync lets it have: {why}',
    next: 'remove large files from its history, or move the fleet to a repository of its own; the commit fetched before stays in force',
  },
})
