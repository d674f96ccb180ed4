use std::process::Command;
fn main(){ let d="/work/shared/golden/ns2"; let p=std::fs::read_to_string(format!("{d}/patterns.json")).unwrap();
 let mut bad=0;let mut all=0;
 for s in ["base","lt"]{for a in ["tahoe","reno","newreno","sack1"]{ let n=format!("sends_{s}_{a}.csv");
  let o=Command::new("zcat").arg(format!("{d}/{n}.gz")).output().unwrap(); let t=String::from_utf8(o.stdout).unwrap();
  for r in crossfade_sim::golden::verify_file(&p,&n,&t).unwrap(){ all+=1; if let Some(x)=r.difference{ bad+=1; println!("{} {}\n    {}",r.case,r.rows,x);} } }}
 println!("{bad} of {all} differ"); }
